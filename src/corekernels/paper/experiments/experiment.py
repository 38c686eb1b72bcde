"""What all experiments share: how they run, what they record, how numbers are written.

An experiment is one section of the report. It is measured in parts; each part leaves a record,
and the section is drawn from the records alone.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ... import datasets
from ..._core.threads import run_blocks
from ...errors import FileError
from ...recipe import Recipe
from ...report import Section
from .published import title_of

Record = dict[str, Any]
T = TypeVar("T")

HASH_REVISION = Recipe().version  # of experiments on hashes: new hashes, new measurements

_FULL_CS = tuple(float(f"{C:.3g}") for C in np.logspace(-2, 3, 11))
_QUICK_CS = (0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Setting:
    """How to run: everything the numbers depend on, and where to look for data."""

    scale: str  # "quick" or "full"
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

    def in_threads(self, work: Callable[[Any], T], inputs: Iterable[Any]) -> list[T]:
        """The results of `work` on each input, in order, computed in threads."""
        return run_blocks(work, list(inputs), self.n_jobs)


@dataclass(frozen=True)
class Experiment:
    """One section of the report.

    Attributes
    ----------
    name : str
    parts : callable
        The names of the parts to measure in a setting.
    measure : callable
        The results of one part, made of what JSON can hold; seconds under "timings".
    section : callable
        The section, drawn from the records of all experiments.
    revision : int
        Raised when what is measured changes: parts measured before are then measured again.
    """

    name: str
    parts: Callable[[Setting], Sequence[str]]
    measure: Callable[[str, Setting], Record]
    section: Callable[["Records"], Section]
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
        return {
            part: record["missing"]
            for part, record in self.get(experiment, {}).items()
            if "missing" in record
        }

    def notes(self, experiment: str) -> list[str]:
        """Where the data came from, what is missing and why."""
        found = self.results(experiment).values()
        sources = {results["data"]: None for results in found if "data" in results}
        reasons: dict[str, list[str]] = {}
        for part, why in self.missing(experiment).items():
            reasons.setdefault(why, []).append(part)
        left_out = [
            f"Left out: {why}"
            if why.startswith(f"{parts[0]}:")
            else f"Left out: {', '.join(parts)}. {why}"
            for why, parts in reasons.items()
        ]
        return [*sources, *left_out]


def binarised(X: Any) -> sparse.csr_array:
    """Rows of unit length that are equal where the given rows are nonzero."""
    X = sparse.csr_array(X, copy=True)
    X.eliminate_zeros()
    lengths = np.diff(X.indptr)
    X.data = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(X.dtype)
    return X


def percent(share: float) -> float:
    """A share as percent, to the hundredth: what records keep."""
    return round(100 * float(share), 2)


def accuracy(predicted: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Percent of labels that are right."""
    return percent(float(np.mean(np.asarray(predicted) == np.asarray(truth))))


def one_decimal(value: float | None) -> str | None:
    """A number as the paper prints it."""
    return None if value is None else f"{value:.1f}"


def difference(ours: float | None, paper: float | None) -> str | None:
    """Our value minus the paper's, with its sign."""
    if ours is None or paper is None:
        return None
    return f"{round(ours - paper, 1) + 0.0:+.1f}".replace("-", "−")  # no negative zero


def seeds(seed: int, n: int) -> list[int]:
    """Seeds for n repetitions, different for each seed."""
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(n)]


def provenance(data: datasets.Dataset) -> str:
    """One sentence on a data set, for the notes."""
    return f"{title_of(data.name)}: {data.source}"


@functools.lru_cache(maxsize=1)
def _load(name: str, folder: Path | None, seed: int) -> datasets.Dataset | FileError:
    """A data set, or why there is none: a network that is down is tried once, not per part."""
    try:
        return datasets.load(name, folder=folder, seed=seed)
    except FileError as error:
        return error
