"""Hash tables in which the rows of a pair above a threshold share a bucket.

Rows of resemblance R agree in all m slots of a key with probability R^m. No kernel value is
large where R is small: `HashedKernel.least_resemblance` says how large R must be for K >= t.
So rows of K >= t share a bucket of one of T tables with probability at least
1 - (1 - p^m)^T, p that least resemblance.
"""

from dataclasses import dataclass

import numpy as np

from ... import theory
from ..._core.types import Array
from ..._core.validation import Rows
from ...kernel_table import hashed_kernel
from ..candidates.lsh import write_keys

N_TABLES = 64
_RECALL = 0.999
_MOST_SLOTS = 32
_LEAST_SLOTS = 3  # with fewer, buckets hold too many rows that are not similar


@dataclass(frozen=True)
class TablePlan:
    """Tables for all pairs above a threshold."""

    n_slots: int
    missed: float  # largest expected share of pairs that no table finds
    n_tables: int = N_TABLES

    def keys(self, rows: Rows, seed: int, n_jobs: int | None) -> Array:
        """Key of each row in each table (n_rows, n_tables)."""
        out = np.empty((len(rows), self.n_tables), np.uint64)
        write_keys(rows, self.n_slots, False, seed, 0, n_jobs, out)
        return out


def plan_tables(kernel: str, threshold: float) -> TablePlan | None:
    """Tables for pairs of K >= threshold; None where they would be of no use."""
    least = hashed_kernel(kernel).least_resemblance(threshold)
    if not 0 < least <= 1:
        return None
    n_slots = theory.slots_allowed(least, N_TABLES, _RECALL)
    if n_slots < _LEAST_SLOTS:
        return None
    n_slots = min(n_slots, _MOST_SLOTS)
    return TablePlan(n_slots, theory.miss_rate(least, n_slots, N_TABLES))


def key_ranks(keys: Array) -> Array:
    """For each row and table the number of smaller keys in that table, equal ones counted once."""
    out = np.empty(keys.shape, np.uint32)
    for table in range(keys.shape[1]):
        order = np.argsort(keys[:, table])
        ordered = keys[order, table]
        out[order, table] = np.cumsum(np.concatenate([[False], ordered[1:] != ordered[:-1]]))
    return out


def repeated_keys(keys: Array) -> Array:
    """The places of keys that occur more than once, ascending: few, as a rule."""
    order = np.argsort(keys)
    first = np.flatnonzero(np.diff(keys[order]) == 0)  # of two equal keys beside each other
    return np.sort(order[np.union1d(first, first + 1)])
