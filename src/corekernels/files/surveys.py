"""What the rows of a file are like, and how to hash them: one pass, constant memory."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._core.arguments import Array, require_count, seed_of
from ..errors import DataError
from ..io.readers import RowReader, require_rows, with_progress
from ..kernel_table import CORE1, CORE2, RESEMBLANCE
from ..kernels import correlation, resemblance
from ..planner import Plan, plan
from .readers import require_labels

_KNOWN_CLASSES = 1000
_SAMPLE_ROWS = 256
_ERROR = 0.05
_HEAVY = 10.0
_DENSE = 0.9
_SPARSE = 0.02  # as texts are; images and histograms are denser
_SIZES = (256, 8192)
_BINS = 30
_MOST_COUNTED = 1 << 30  # whole numbers beyond it are taken as any numbers
_MAGNITUDES = 100.0  # between the least and the greatest, from which bins grow in proportion


@dataclass(frozen=True)
class Histogram:
    """How often values lie between edges."""

    edges: tuple[float, ...]  # one more than there are bins
    counts: tuple[int, ...]  # of values per bin
    log: bool  # whether bins are equally wide in the logarithm

    @classmethod
    def of(
        cls, values: npt.ArrayLike, counts: npt.ArrayLike | None = None, *, n_bins: int = _BINS
    ) -> "Histogram":
        """The histogram of finite values, each of them so many times."""
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


@dataclass(frozen=True)
class Survey:
    """A description of rows, and the hashing it suggests."""

    rows: int
    columns: int
    nonzeros: int
    empty_rows: int
    density: float  # share of values that are not 0
    row_lengths: dict[str, float]  # nonzeros of a row: min, median, mean, p99, max
    least: float  # of the nonzero values; NaN if there are none
    greatest: float
    binary: bool  # whether all nonzeros are equal
    negative: bool  # whether some are below 0
    heaviness: float  # of the tails: mean of f sum u^4 over unit rows u of f nonzeros
    classes: dict[Any, int] | None  # rows of each label; None if there are none or too many
    typical_R: float  # resemblance of the closer pairs of a sample: nine in ten are below
    typical_rho: float  # and their cosine
    plan: Plan  # kernel, n_hashes and n_bits suggested
    reason: str  # why that kernel
    length_histogram: Histogram  # of the nonzeros per row
    value_histogram: Histogram  # of the nonzero values in a sample of rows


def survey(
    reader: RowReader, *, seed: int = 0, progress: bool | None = None, n_jobs: int | None = None
) -> Survey:
    """Describe the rows of a reader, and say which kernel, k and b they suggest.

    Returns
    -------
    survey : `rows`, `columns`, `nonzeros`, `density`, `row_lengths`, `heaviness` (1 for binary,
        about 2 for TF-IDF, hundreds for raw counts), `classes`, the suggested `plan` and its
        `reason`, and more

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.npz", [[0, 1.5, 0, 1], [2, 0, 1, 0], [1, 0, 1, 0]], [0, 1, 1])
    >>> found = ck.files.survey(ck.files.open_reader("rows.npz"))
    >>> found.rows, found.density, found.classes
    (3, 0.5, {0: 1, 1: 2})
    >>> found.plan.kernel, found.reason
    ('core1', 'values and columns both count, and values are not heavy-tailed')
    """
    require_rows(reader)
    lengths: Counter[int] = Counter()
    classes: Counter[Any] | None = Counter()
    kept = RowSample(_SAMPLE_ROWS, seed)
    least, greatest, fourths = math.inf, -math.inf, 0.0
    for batch in with_progress(reader, "reading", progress):
        rows = batch.rows
        lengths.update(rows.lengths.tolist())
        if rows.nnz:
            least = min(least, float(rows.data.min()))
            greatest = max(greatest, float(rows.data.max()))
            fourths += _heaviness(rows)
        if batch.y is None:
            classes = None
        elif classes is not None:
            classes.update(np.asarray(batch.y).tolist())
            classes = classes if len(classes) <= _KNOWN_CLASSES else None
        kept.add(batch.X, batch.y)
    n_rows, nonzeros = sum(lengths.values()), sum(f * n for f, n in lengths.items())
    if not n_rows:
        raise DataError(f"{reader.name}: holds no rows.")
    full = n_rows - lengths[0]
    heaviness = fourths / full if full else 1.0
    density = nonzeros / (n_rows * reader.n_columns)
    sampled = kept.rows()[0]
    R, rho = _closeness(sampled, n_jobs)
    kernel, reason = _suggestion(least == greatest, heaviness, density)
    suggested = _plan(
        kernel=kernel, R=R, rho=rho, length=max(1, round(nonzeros / max(1, full))),
        heaviness=max(1.0, heaviness), n_columns=reader.n_columns, n_rows=n_rows,
    )  # fmt: skip
    return Survey(
        n_rows, reader.n_columns, nonzeros, lengths[0], density, _quantiles(lengths),
        least=least if full else math.nan, greatest=greatest if full else math.nan,
        binary=bool(full) and least == greatest, negative=least < 0, heaviness=heaviness,
        classes=None if classes is None else dict(sorted(classes.items())),
        typical_R=R, typical_rho=rho, plan=suggested, reason=reason,
        length_histogram=Histogram.of(list(lengths), list(lengths.values())),
        value_histogram=Histogram.of(sampled.data[sampled.data != 0]),
    )  # fmt: skip


class RowSample:
    """A uniform sample of the rows of a stream whose length need not be known."""

    def __init__(self, n_rows: int, seed: Any) -> None:
        self._n_rows = require_count("n_rows", n_rows)
        self._rng = np.random.default_rng(seed_of(seed, "seed"))
        self._keys: Array = np.empty(0)
        self._X: list[Any] = []
        self._y: list[Array] = []

    def add(self, X: Any, y: Array | None) -> None:
        """Take in the next rows: each draws a random key, and the lowest keys are kept."""
        drawn = self._rng.random(X.shape[0])
        full = len(self._keys) >= self._n_rows
        fresh = np.flatnonzero(drawn < (self._keys.max() if full else np.inf))
        keys = np.concatenate([self._keys, drawn[fresh]])
        matrix = sparse.vstack([*self._X, X[fresh]], format="csr")
        labels = None if y is None else np.concatenate([*self._y, np.asarray(y)[fresh]])
        stay = np.sort(np.argsort(keys, kind="stable")[: self._n_rows])
        self._keys, self._X = keys[stay], [matrix[stay]]
        self._y = [] if labels is None else [labels[stay]]

    def rows(self) -> tuple[Any, Array | None]:
        """The rows kept, in their order, and their labels."""
        return sparse.csr_array(self._X[0]), self._y[0] if self._y else None


def sample(
    reader: RowReader, n_rows: int, *, most_read: int | None = None, seed: int = 0,
    labelled: bool = False, progress: bool | None = None,
) -> tuple[Any, Array | None]:  # fmt: skip
    """A uniform sample of rows and labels; of the first `most_read` rows, if that is given.

    A reader without labels gives None for them, or is refused if they are to be there.
    """
    require_rows(reader)
    kept, n_read = RowSample(n_rows, seed), 0
    for batch in with_progress(reader, "reading", progress):
        if labelled:
            require_labels(batch.y, reader.name)
        kept.add(batch.X, batch.y)
        n_read += batch.X.shape[0]
        if most_read is not None and n_read >= most_read:
            break
    if not n_read:
        raise DataError(f"{reader.name}: holds no rows.")
    return kept.rows()


def _heaviness(rows: Any) -> float:
    """Sum over the rows of f sum u_i^4."""
    present = np.flatnonzero(rows.lengths)
    starts = rows.indptr[:-1][present]
    scale = np.maximum.reduceat(np.abs(rows.data), starts).astype(np.float64)
    values = rows.data / np.repeat(scale, rows.lengths[present])
    squares = np.add.reduceat(values**2, starts)
    return float((rows.lengths[present] * np.add.reduceat(values**4, starts) / squares**2).sum())


def _quantiles(lengths: Counter[int]) -> dict[str, float]:
    values, counts = np.array(sorted(lengths.items()), float).T
    quantiles = np.quantile(values, [0, 0.5, 0.99, 1], weights=counts, method="inverted_cdf")
    low, median, p99, high = quantiles.tolist()
    mean = float(np.average(values, weights=counts))
    return {"min": low, "median": median, "mean": mean, "p99": p99, "max": high}


def _closeness(X: Any, n_jobs: int | None) -> tuple[float, float]:
    pairs = np.triu_indices(X.shape[0], 1)
    if not len(pairs[0]):
        return 1.0, 1.0
    R, rho = resemblance(X, n_jobs=n_jobs)[pairs], correlation(X, n_jobs=n_jobs)[pairs]
    return float(np.quantile(R, 0.9)), float(np.clip(np.quantile(rho, 0.9), 0, 1))


def _suggestion(binary: bool, heaviness: float, density: float) -> tuple[str, str]:
    if density >= _DENSE:
        reason = "almost no value is 0: CoRE 1 is close to the cosine, a linear model may do"
        return CORE1.name, reason
    if binary:
        return RESEMBLANCE.name, "all values are equal: they say nothing that the columns do not"
    if heaviness > _HEAVY:
        return CORE1.name, "values are heavy-tailed, which CoRE 1 handles better than CoRE 2"
    if density < _SPARSE:
        return CORE2.name, "few columns are shared, as in texts: try a linear model first"
    return CORE1.name, "values and columns both count, and values are not heavy-tailed"


def _plan(**options: Any) -> Plan:
    """Enough hashes for an error of 0.05 on the closer pairs, rounded up to a power of two."""
    least = plan(_ERROR, **options).n_hashes
    n_hashes = int(np.clip(2 ** math.ceil(math.log2(least)), *_SIZES))
    return plan(n_hashes=n_hashes, **options)
