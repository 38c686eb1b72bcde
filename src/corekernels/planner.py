"""The planner: from an error to the hashes it takes, and back; memory before a run."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from statistics import NormalDist

import numpy as np

from ._hashing.base import Sketch
from .errors import ParameterError
from .recipe import MAX_BITS, MAX_COLUMNS, MAX_HASHES, Recipe
from .theory.pairs import Pair

_TYPICAL_LENGTH = 100
_GRID = np.linspace(0, 1, 101)  # of R and |rho| where they are not given


@dataclass(frozen=True)
class Plan:
    """What hashing will take and give; see `plan`.

    Examples
    --------
    >>> import corekernels as ck
    >>> plan = ck.plan(0.05, kernel="core1", R=0.3, rho=0.5)
    >>> plan.n_hashes, plan.n_bits, plan.bytes_per_row
    (639, 8, 1925)
    """

    kernel: str
    n_hashes: int
    n_bits: int | None
    error: float
    confidence: float
    bytes_per_row: int
    n_bytes: int | None
    gamma: float | None = None
    weight_bits: int = Recipe.weight_bits


def plan(
    error: float | None = None, *, n_hashes: int | None = None, kernel: str = Recipe.kernel,
    n_bits: int | None = Recipe.n_bits, confidence: float = 0.95, R: float | None = None,
    rho: float | None = None, length: int | None = None, heaviness: float = 1.0,
    n_columns: int | None = None, n_rows: int | None = None,
    gamma: float | None = None, weight_bits: int = Recipe.weight_bits,
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
    kernel : str
        A name in `kernel_table.HASHED_KERNELS`.
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
    n_rows : int, optional
        For the total bytes.
    gamma : float, optional
        Parameter of the kernel, if it has one; its default if None.
    weight_bits : {16, 8, 4}
        Bits of each weight, as in `CoREHasher`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.plan(0.05, kernel="resemblance", n_bits=None).n_hashes
    288
    >>> ck.plan(0.05, kernel="resemblance", n_columns=784, length=600, R=0.7).n_hashes
    235
    >>> plan = ck.plan(0.05, kernel="core1", R=0.3, rho=0.5, n_rows=1_000_000)
    >>> plan.n_hashes, plan.n_bytes
    (639, 1925000000)
    >>> round(ck.plan(n_hashes=plan.n_hashes, kernel="core1", R=0.3, rho=0.5).error, 3)
    0.05
    >>> small = ck.plan(0.05, kernel="core1", R=0.3, rho=0.5, n_bits=4, weight_bits=4)
    >>> small.n_hashes, small.bytes_per_row
    (760, 768)
    """
    if (error is None) == (n_hashes is None):
        raise ParameterError("plan: give either error or n_hashes.")
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
    ):
        _require_range(name, value, low, high, kind)
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence: got {confidence!r}; give a number between 0 and 1.")
    if error is not None and not error > 0:
        raise ParameterError(f"error: got {error!r}; give a number > 0.")
    length = min(_TYPICAL_LENGTH, n_columns) if length is None else length
    pairs = _possible_pairs(R, rho, length, heaviness, n_columns)
    one_slot = Recipe(kernel, 1, n_bits, n_columns=n_columns, gamma=gamma, weight_bits=weight_bits)
    entry = one_slot.entry
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    if one_slot.weight_rounding is not None:
        z *= math.sqrt(one_slot.weight_rounding.variance_factor)

    def error_of(n_hashes: int) -> float:
        sketch = replace(one_slot, n_hashes=n_hashes).sketch
        chance = sketch.aliasing(length, length)
        change = sketch.variance_change(pairs.union)
        variance = entry.variance(pairs, n_hashes, chance=chance, change=change)
        return z * math.sqrt(max(0.0, float(np.max(variance))))

    if n_hashes is None:
        n_hashes = _fewest_hashes(lambda k: error_of(k) <= error, one_slot.sketch)  # type: ignore[operator]
        if n_hashes > MAX_HASHES:
            raise ParameterError(f"error: got {error!r}, which takes too many hashes; give more.")
    per_row = replace(one_slot, n_hashes=n_hashes).bytes_per_row
    n_bytes = None if n_rows is None else n_rows * per_row
    return Plan(
        kernel, n_hashes, n_bits, error_of(n_hashes), confidence, per_row, n_bytes,
        entry.gamma, weight_bits,
    )  # fmt: skip


def _require_range(name: str, value: object, low: float, high: float, kind: type) -> None:
    """Refuse a value, unless it is None, that is no number of this kind and range."""
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if value is not None and not (is_number and low <= value <= high):  # type: ignore[operator]
        what = "an integer" if kind is Integral else "a number"
        upper = "" if high == math.inf else f" to {high}"
        raise ParameterError(f"{name}: got {value!r}; give {what} from {low}{upper}.")


def _possible_pairs(
    R: float | None, rho: float | None, length: int, heaviness: float, n_columns: int
) -> Pair:
    """Pairs of rows of this length; where R or rho is None, those of a fine grid."""
    r = (_GRID if R is None else np.array([R]))[:, None]
    if R is None:  # rows that fill more than half of the columns have some in common
        r = np.maximum(r, 2 * length / n_columns - 1)
    cosines = np.concatenate([-_GRID[:0:-1], _GRID]) if rho is None else np.array([rho])
    shared = 2 * length * r / (1 + r)
    return Pair(cosines, length, length, shared, heaviness * shared / length**2)


def _fewest_hashes(are_enough: Callable[[int], bool], sketch: Sketch) -> int:
    """The least number of hashes that are enough, or one more than there can be.

    The error falls with every hash until all banks are full, and from one such number to the next.
    In between it may rise for a while, as a bank begins that knows nothing of the one before.
    """
    most = sketch.bank_slots
    n_banks = _first(lambda n: n * most > MAX_HASHES or are_enough(n * most), 0)
    low, high = (n_banks - 1) * most, n_banks * most
    for full in sketch.full_banks_between(low, high):
        if full <= MAX_HASHES and are_enough(full):
            high = full
            break
        low = full
    return _first(lambda k: k > MAX_HASHES or k >= high or are_enough(k), low)


def _first(holds: Callable[[int], bool], low: int) -> int:
    """By bisection, the first number above `low` from which on a condition holds."""
    step = 1
    while not holds(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
