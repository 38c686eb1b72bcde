"""A stage: one result of the report, measured in items that can be resumed, drawn from records."""

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
from ...report.layout import Section
from .published import title_of

Record = dict[str, Any]
T = TypeVar("T")

HASHED = Recipe().version  # revision of what depends on hashes: another with each contract

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
        """Whether this is the whole of the paper's section."""
        return self.scale == "full"

    @property
    def Cs(self) -> tuple[float, ...]:
        """The values of C that are swept."""
        return _FULL_CS if self.full else _QUICK_CS

    def load(self, name: str) -> datasets.Dataset:
        """A data set; the last one is kept, since neighbouring items share it."""
        found = _load(name, self.folder, self.seed)
        if isinstance(found, FileError):
            raise found
        return found

    def in_threads(self, work: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
        """The results of `work` on each item, in order, computed side by side."""
        return run_blocks(work, list(items), self.n_jobs)


@dataclass(frozen=True)
class Stage:
    """One result of the report.

    `items` names the parts for a scale; `measure` gives the results of one part, which hold
    nothing but what JSON can; `section` draws from the records of all stages, by stage and item.
    """

    name: str
    items: Callable[[Setting], Sequence[str]]
    measure: Callable[[str, Setting], Record]
    section: Callable[["Records"], Section]
    revision: int = 1  # raised when what is measured changes: older records are then made anew


class Records(dict[str, dict[str, Record]]):
    """Records by stage and item; a part whose data are missing has `missing` and no `results`."""

    def results(self, stage: str) -> dict[str, Record]:
        """The results of a stage, by item, without the parts that are missing."""
        return {
            item: {**record["results"], "timings": record["timings"]}
            for item, record in self.get(stage, {}).items()
            if "results" in record
        }

    def missing(self, stage: str) -> dict[str, str]:
        """Why items of a stage could not be measured."""
        return {
            item: record["missing"]
            for item, record in self.get(stage, {}).items()
            if "missing" in record
        }

    def notes(self, stage: str) -> list[str]:
        """Where the data came from, what is missing and why."""
        sources = {
            results["data"]: None for results in self.results(stage).values() if "data" in results
        }
        reasons: dict[str, list[str]] = {}
        for item, why in self.missing(stage).items():
            reasons.setdefault(why, []).append(item)
        left_out = [
            f"Left out: {why}"
            if why.startswith(f"{items[0]}:")
            else f"Left out: {', '.join(items)}. {why}"
            for why, items in reasons.items()
        ]
        return [*sources, *left_out]


def binarised(X: Any) -> sparse.csr_array:
    """The rows' supports, of unit length."""
    X = sparse.csr_array(X, copy=True)
    X.eliminate_zeros()
    lengths = np.diff(X.indptr)
    X.data = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(X.dtype)
    return X


def percent(share: float) -> float:
    """A share as percent, to the hundredth: what the tables show and the records keep."""
    return round(100 * float(share), 2)


def accuracy(predicted: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Percent of labels that are right."""
    return percent(float(np.mean(np.asarray(predicted) == np.asarray(truth))))


def one_decimal(value: float | None) -> str | None:
    """A number as the paper prints it."""
    return None if value is None else f"{value:.1f}"


def difference(ours: float | None, paper: float | None) -> str | None:
    """Ours less the paper's, with its sign."""
    if ours is None or paper is None:
        return None
    return f"{round(ours - paper, 1) + 0.0:+.1f}".replace("-", "−")  # no negative zero


def seeds(seed: int, n: int) -> list[int]:
    """Seeds for n repetitions, which no other seed shares."""
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(n)]


def provenance(data: datasets.Dataset) -> str:
    """One sentence on a data set, for the notes."""
    return f"{title_of(data.name)}: {data.source}"


@functools.lru_cache(maxsize=1)
def _load(name: str, folder: Path | None, seed: int) -> datasets.Dataset | FileError:
    """A data set, or why it cannot be had: a network that is down is asked once, not per item."""
    try:
        return datasets.load(name, folder=folder, seed=seed)
    except FileError as error:
        return error
