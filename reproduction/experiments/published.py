"""What the paper reports, and how accuracies are written beside it: in percent, best over C."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..datasets import Dataset

KERNELS = ("linear", "linear, binarised", "resemblance", "CoRE 1", "CoRE 2")


@dataclass(frozen=True)
class DataSet:
    """One row of the paper's Tables 1 and 2."""

    title: str
    n_train: int
    n_test: int
    accuracies: dict[str, float]


def _row(title: str, n_train: int, n_test: int, *accuracies: float) -> DataSet:
    return DataSet(title, n_train, n_test, dict(zip(KERNELS, accuracies, strict=True)))


DATA_SETS = {
    "m-basic": _row("M-Basic", 12_000, 50_000, 90.0, 88.9, 95.9, 97.0, 96.5),
    "mnist10k": _row("MNIST10k", 10_000, 60_000, 90.0, 88.8, 95.5, 96.6, 96.0),
    "m-rotate": _row("M-Rotate", 12_000, 50_000, 48.0, 44.4, 80.3, 87.6, 86.2),
    "rcv1": _row("RCV1", 20_242, 60_000, 96.3, 95.6, 96.5, 97.0, 96.9),
    "usps": _row("USPS", 7_291, 2_007, 91.8, 87.4, 92.5, 95.5, 95.2),
    "youtube": _row("YouTube", 11_930, 97_934, 47.6, 46.5, 51.1, 53.1, 53.2),
}

_OURS = {
    "m-basic": "M-Basic (regenerated)",
    "m-rotate": "M-Rotate (regenerated)",
    "20news": "20 Newsgroups (stands in for RCV1)",
    "digits": "digits",
}


def title_of(name: str) -> str:
    """A data set's name in tables, panels and notes."""
    return _OURS[name] if name in _OURS else DATA_SETS[name].title


def provenance(data: Dataset) -> str:
    """One sentence on a data set, for the notes."""
    return f"{title_of(data.name)}: {data.source}"


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
