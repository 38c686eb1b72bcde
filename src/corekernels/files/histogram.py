"""Histograms of numbers that may span magnitudes, for pages about rows."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array

_BINS = 30
_MOST_COUNTED = 1 << 30  # whole numbers beyond it are taken as any numbers
_MAGNITUDES = 100.0  # between the least and the greatest, from which bins grow in proportion


@dataclass(frozen=True)
class Histogram:
    """How often values lie between edges.

    Attributes
    ----------
    edges : tuple of float
        One more than there are bins.
    counts : tuple of int
        Of values per bin.
    log : bool
        Whether bins are equally wide in the logarithm.

    Examples
    --------
    >>> import corekernels as ck
    >>> found = ck.files.Histogram.of([1, 2, 2, 3], n_bins=2)
    >>> found.edges, found.counts, found.log
    ((0.5, 2.5, 4.5), (3, 1), False)
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    log: bool

    @classmethod
    def of(
        cls, values: npt.ArrayLike, counts: npt.ArrayLike | None = None, *, n_bins: int = _BINS
    ) -> "Histogram":
        """The histogram of finite values, each of them so many times.

        >>> Histogram.of([1, 2, 2, 3], n_bins=2).counts
        (3, 1)
        """
        numbers = np.asarray(values, np.float64).ravel()
        weights = np.ones(len(numbers), np.int64) if counts is None else np.asarray(counts)
        if not len(numbers):
            return cls((0.0, 1.0), (0,), False)
        low, high = float(numbers.min()), float(numbers.max())
        if low == high:
            return cls((low - 0.5, high + 0.5), (int(weights.sum()),), False)
        log = low > 0 and high / low >= _MAGNITUDES
        edges = np.geomspace(low, high, n_bins + 1) if log else _even_edges(numbers, n_bins)
        edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # despite rounding
        found = np.histogram(numbers, edges, weights=weights)[0]
        return cls(tuple(edges.tolist()), tuple(map(int, found)), log)


def _even_edges(numbers: Array, n_bins: int) -> Array:
    """Edges between equally wide bins; whole numbers are not split between bins unevenly."""
    low, high = float(numbers.min()), float(numbers.max())
    if high / 2 - low / 2 > _MOST_COUNTED or not np.equal(numbers, np.rint(numbers)).all():
        return 2 * np.linspace(low / 2, high / 2, n_bins + 1)  # halves: no overflow
    width = math.ceil((high - low + 1) / n_bins)
    n_wide = math.ceil((high - low + 1) / width)
    return low - 0.5 + width * np.arange(n_wide + 1, dtype=np.float64)
