"""Hash tables in which the rows of a pair above a threshold share a bucket.

Rows of resemblance R agree in all m slots of a key with probability R^m. No kernel value is
large where R is small: `Kernel.least_resemblance` says how large R must be for K >= t.
So rows of K >= t share a bucket of one of T tables with probability at least
1 - (1 - p^m)^T, p that least resemblance.
"""

from dataclasses import dataclass

import numpy as np

from ... import theory
from ..._core.arguments import Array
from ..._core.team import Team
from ..._core.validation import Rows, read_only
from ..._loops.search.buckets import NumberScratch, number_keys
from ...kernel_table import Kernel
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

    def keys(self, team: Team, rows: Rows, seed: int) -> Array:
        """Key of each row in each table (n_rows, n_tables)."""
        out = np.empty((len(rows), self.n_tables), np.uint64)
        write_keys(team, rows, self.n_slots, False, seed, 0, out)
        return out


def plan_tables(kernel: Kernel, threshold: float) -> TablePlan | None:
    """Tables for pairs of K >= threshold; None where they would be of no use."""
    least = kernel.least_resemblance(threshold)
    if not 0 < least <= 1:
        return None
    n_slots = theory.slots_allowed(least, N_TABLES, _RECALL)
    if n_slots < _LEAST_SLOTS:
        return None
    n_slots = min(n_slots, _MOST_SLOTS)
    return TablePlan(n_slots, theory.miss_rate(least, n_slots, N_TABLES))


def key_numbers(team: Team, keys: Array) -> Array:
    """For each row and table the number of its key in that table, from 0 on without gaps."""
    n_rows, n_tables = keys.shape
    out, keys = np.empty(keys.shape, np.uint32), read_only(keys)
    team.run(number_keys, lambda: (keys, NumberScratch.new(n_rows), out), n_tables, 1)
    return out


def repeated_keys(keys: Array) -> Array:
    """The places of keys that occur more than once, ascending: few, as a rule."""
    order = np.argsort(keys)
    first = np.flatnonzero(np.diff(keys[order]) == 0)  # of two equal keys beside each other
    return np.sort(order[np.union1d(first, first + 1)])
