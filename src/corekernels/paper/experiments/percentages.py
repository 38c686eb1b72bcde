"""Accuracies in percent: as records keep them, and as tables print them."""

import numpy as np
import numpy.typing as npt


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
