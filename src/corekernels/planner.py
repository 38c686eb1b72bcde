"""The planner: from an error to the hashes it takes, and back; memory and time before a run."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from statistics import NormalDist

import numpy as np

from .errors import ParameterError
from .kernel_table import HashedKernel, SlotWeight, hashed_kernel
from .recipe import MAX_BITS, MAX_COLUMNS, MAX_HASHES, NARROW_COLUMNS, Recipe
from .theory.aliasing import NO_ALIASING, Aliasing
from .theory.pairs import Pair

# Slot updates (nonzeros x hashes) per second and thread, as `benchmarks/hashing.py` measured
# them on a server core with 512-bit vectors; machines differ by a factor of three or so.
_MINIMA_PER_SECOND = 50e9
_PROJECTIONS_PER_SECOND = 40e9
_SECONDS_PER_SLOT = 1e-9  # whatever the row's length
_SIEVE_SECONDS = 1.4e-11  # per slot, times columns over nonzeros: long rows go through a sieve
_TYPICAL_LENGTH = 100
_GRID = np.linspace(0, 1, 101)  # of R and rho where they are not known


@dataclass(frozen=True)
class Plan:
    """What hashing will take and give; see `plan`."""

    kernel: str
    n_hashes: int
    n_bits: int | None
    error: float
    confidence: float
    bytes_per_row: int
    n_bytes: int | None
    seconds: float | None


def plan(
    error: float | None = None, *, n_hashes: int | None = None, kernel: str = Recipe.kernel,
    n_bits: int | None = Recipe.n_bits, confidence: float = 0.95, R: float | None = None,
    rho: float | None = None, length: int | None = None, heaviness: float = 1.0,
    n_columns: int | None = None, n_rows: int | None = None, threads: int = 1,
) -> Plan:  # fmt: skip
    """How many hashes an error takes, or the error that many hashes give.

    The error is the half-width of the confidence interval of an estimated kernel value,
    z sqrt(variance), with the normal quantile z of `confidence`. What is not known about
    the rows is taken at its worst.

    Parameters
    ----------
    error : float, optional
        Wanted error; give this or `n_hashes`.
    n_hashes : int, optional
        Number of hashes; give this or `error`.
    kernel : {"resemblance", "core1", "core2"}
        Which kernel.
    n_bits : int or None
        Bits kept of each location.
    confidence : float
        Probability that the error is kept.
    R, rho : float, optional
        Resemblance and cosine of the pairs that matter; the worst case if None.
    length : int, optional
        Typical number of nonzeros per row; 100 if None, or all columns if they are fewer.
    heaviness : float >= 1
        For core2: how heavy-tailed the values are, f sum u_i^4 of a unit row with f
        nonzeros. It is 1 for binary rows, about 2 for TF-IDF, and hundreds for counts.
    n_columns : int, optional
        Number of columns; more than 65,536 if None.
    n_rows, threads : int, optional
        For the forecast of total bytes and of seconds (right to a factor of about three).

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.plan(0.05, kernel="resemblance", n_bits=None).n_hashes
    385
    >>> wanted = ck.plan(0.05, kernel="core1", R=0.3, rho=0.5, n_rows=1_000_000)
    >>> wanted.n_hashes, wanted.n_bytes
    (664, 2000000000)
    >>> round(ck.plan(n_hashes=wanted.n_hashes, kernel="core1", R=0.3, rho=0.5).error, 3)
    0.05
    """
    if (error is None) == (n_hashes is None):
        raise ParameterError("plan: give either error or n_hashes.")
    entry = hashed_kernel(kernel)
    n_columns = MAX_COLUMNS if n_columns is None else n_columns
    for name, value, low, high, kind in (
        ("n_hashes", n_hashes, 1, MAX_HASHES, Integral),
        ("n_bits", n_bits, 1, MAX_BITS, Integral),
        ("R", R, 0, 1, Real),
        ("rho", rho, -1, 1, Real),
        ("n_columns", n_columns, 1, MAX_COLUMNS, Integral),
        ("length", length, 1, n_columns, Integral),
        ("heaviness", heaviness, 1, math.inf, Real),
        ("n_rows", n_rows, 0, math.inf, Integral),
        ("threads", threads, 1, math.inf, Integral),
    ):
        _require_range(name, value, low, high, kind)
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence: got {confidence!r}; give a number between 0 and 1.")
    if error is not None and not error > 0:
        raise ParameterError(f"error: got {error!r}; give a number > 0.")
    length = min(_TYPICAL_LENGTH, n_columns) if length is None else length
    one_slot = Recipe(kernel, 1, n_bits, n_columns=n_columns)
    slot = _slot_variance(entry, one_slot.aliasing(length, length), R, rho, length, heaviness)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    if n_hashes is None:
        needed = slot * (z / error) * (z / error)  # type: ignore[operator]
        if not needed <= MAX_HASHES:
            raise ParameterError(f"error: got {error!r}, which takes too many hashes; give more.")
        n_hashes = max(1, math.ceil(needed))
    per_row = Recipe(kernel, n_hashes, n_bits, n_columns=n_columns).bytes_per_row
    seconds = n_hashes * _seconds_per_slot(entry, length, n_columns) / threads
    total = (None, None) if n_rows is None else (n_rows * per_row, n_rows * seconds)
    error = z * math.sqrt(slot / n_hashes)
    return Plan(kernel, n_hashes, n_bits, error, confidence, per_row, *total)


def _require_range(name: str, value: object, low: float, high: float, kind: type) -> None:
    """Refuse a value, unless it is None, that is no number of this kind and range."""
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if value is not None and not (is_number and low <= value <= high):  # type: ignore[operator]
        what = "an integer" if kind is Integral else "a number"
        upper = "" if high == math.inf else f" to {high}"
        raise ParameterError(f"{name}: got {value!r}; give {what} from {low}{upper}.")


def _slot_variance(
    kernel: HashedKernel, chance: Aliasing | None, R: float | None, rho: float | None,
    length: int, heaviness: float,
) -> float:  # fmt: skip
    """Variance of one slot; where R or rho is unknown, the largest over a fine grid."""
    r = (_GRID if R is None else np.array([R]))[:, None]
    cosines = _GRID if rho is None else np.array([rho])
    shared = 2 * length * r / (1 + r)
    pairs = Pair(cosines, length, length, shared, heaviness * shared / length**2)
    return max(0.0, float(np.max(kernel.variance(pairs, 1, chance=chance or NO_ALIASING))))


def _seconds_per_slot(kernel: HashedKernel, length: int, n_columns: int) -> float:
    """Seconds that one slot of one row takes on one thread."""
    minima = length / _MINIMA_PER_SECOND
    if n_columns <= NARROW_COLUMNS:
        minima = min(minima, n_columns / length * _SIEVE_SECONDS)
    projects = kernel.slot_weight is SlotWeight.PROJECTION
    return minima + (length / _PROJECTIONS_PER_SECOND if projects else 0.0) + _SECONDS_PER_SLOT
