"""What all experiments share: how they run, what they record, what they show.

An experiment is one section of the report. It is measured in parts; each part leaves a record,
and the section is drawn from the records alone.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from corekernels.errors import FileError
from corekernels.report.layout import Figure, Table

from .. import datasets
from ..datasets.dataset import Array

Item = TypeVar("Item")
Result = TypeVar("Result")
Record = dict[str, Any]

# how much of the paper a run repeats, and how long that takes
SCALES = {
    "quick": "scikit-learn's digits, a minute",
    "full": "the paper's data sets, an hour and a half on two cores",
}

N_TUNING = 5000  # training rows to choose a parameter on

_FULL_CS = tuple(float(f"{C:.3g}") for C in np.logspace(-2, 3, 11))
_QUICK_CS = (0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Setting:
    """How to run: everything the numbers depend on, and where to look for data."""

    scale: str  # one of SCALES
    seed: int = 0
    folder: Path | None = None
    n_jobs: int | None = None

    @property
    def full(self) -> bool:
        """Whether to use the paper's data sets."""
        return self.scale == "full"

    @property
    def Cs(self) -> tuple[float, ...]:
        """The values of C that are swept."""
        return _FULL_CS if self.full else _QUICK_CS

    def load(self, name: str) -> datasets.Dataset:
        """A data set; the last one is kept in memory, since consecutive parts share it."""
        found = _load(name, self.folder, self.seed)
        if isinstance(found, FileError):
            raise found
        return found


class Drawn(NamedTuple):
    """What a section of the report shows."""

    text: str
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()


@dataclass(frozen=True)
class Experiment:
    """One section of the report.

    `measure` gives the results of one part, made of what JSON can hold, with seconds under
    "timings". `revision` is raised when what is measured changes: parts measured before are then
    measured again.
    """

    name: str
    title: str
    parts: Mapping[str, Sequence[str]]  # names of the parts to measure, for each scale
    measure: Callable[[str, Setting], Record]
    draw: Callable[["Records"], Drawn]  # from the records of all experiments
    revision: int = 1


class Records(dict[str, dict[str, Record]]):
    """Records by experiment and part; one that failed has `missing` in place of `results`."""

    def results(self, experiment: str) -> dict[str, Record]:
        """The results of an experiment by part, without the parts that are missing."""
        return {
            part: {**record["results"], "timings": record["timings"]}
            for part, record in self.get(experiment, {}).items()
            if "results" in record
        }

    def missing(self, experiment: str) -> dict[str, str]:
        """Why parts of an experiment could not be measured."""
        records = self.get(experiment, {}).items()
        return {part: record["missing"] for part, record in records if "missing" in record}

    def notes(self, experiment: str) -> list[str]:
        """Where the data came from, what is missing and why."""
        found = self.results(experiment).values()
        sources = {results["data"]: None for results in found if "data" in results}
        reasons: dict[str, list[str]] = {}
        for part, why in self.missing(experiment).items():
            reasons.setdefault(why, []).append(part)
        for why, parts in reasons.items():
            which = "" if why.startswith(f"{parts[0]}:") else f"{', '.join(parts)}. "
            sources[f"Left out: {which}{why}"] = None
        return list(sources)


def in_threads(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None
) -> list[Result]:
    """What a function gives for each item, computed in threads; None means all cores."""
    with ThreadPoolExecutor(n_jobs or os.cpu_count()) as threads:
        return list(threads.map(function, items))


def binarised(X: Any) -> sparse.csr_array:
    """Rows of unit length that are equal where the given rows are nonzero."""
    X = sparse.csr_array(X, copy=True)
    X.eliminate_zeros()
    lengths = np.diff(X.indptr)
    X.data = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(X.dtype)
    return X


def tuning_rows(n_rows: int, seed: int) -> tuple[Array, Array]:
    """Training rows to choose a parameter on: 3 of 5 to learn from, 2 of 5 to test on."""
    rows = np.random.default_rng(seed).permutation(n_rows)[:N_TUNING]
    learned, held_out = np.split(rows, [len(rows) * 3 // 5])
    return learned, held_out


def seeds(seed: int, n: int) -> list[int]:
    """Seeds for n repetitions, different for each seed."""
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(n)]


@functools.lru_cache(maxsize=1)
def _load(name: str, folder: Path | None, seed: int) -> datasets.Dataset | FileError:
    """A data set, or why there is none: a network that is down is tried once, not per part."""
    try:
        return datasets.load(name, folder=folder, seed=seed)
    except FileError as error:
        return error
