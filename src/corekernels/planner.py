"""The planner: from an error to the hashes it takes, and back; memory and time before a run."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from statistics import NormalDist

from .errors import ParameterError
from .theory.aliasing import aliasing
from .theory.variances import variance_core1, variance_core2, variance_resemblance

KERNELS = ("resemblance", "core1", "core2")

# Slot updates (nonzeros x hashes) a second and thread, as `benchmarks/hashing.py` measured
# them on a server core with 512-bit vectors; machines differ by a factor of three or so.
_MINIMA_RATE = 50e9
_PROJECTION_RATE = 40e9
_SLOT_SECONDS = 1e-9  # what each slot of a row costs whatever the row's length
_SIEVE_SECONDS = 1.4e-11  # times columns over nonzeros: a slot in the sieve of long rows
_MOST_IN_SIEVE = 2**16


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


def bytes_per_row(kernel: str, n_hashes: int, n_bits: int | None, n_locations: int = 2**32) -> int:
    """Bytes of one row's signature: codes, weights (none for resemblance), length and sum.

    >>> bytes_per_row("core1", 1024, 8), bytes_per_row("resemblance", 1024, 8)
    (3080, 1032)
    """
    whole = 2 if n_locations <= 2**16 else 4
    code = whole if n_bits is None else (1 if n_bits <= 8 else 2)
    weight = 0 if kernel == "resemblance" else 2
    return n_hashes * (code + weight) + 8 + (4 if kernel == "core2" else 0)


def plan(
    error: float | None = None,
    *,
    n_hashes: int | None = None,
    kernel: str = "core1",
    n_bits: int | None = 8,
    confidence: float = 0.95,
    R: float | None = None,
    rho: float | None = None,
    length: int | None = None,
    heaviness: float = 1.0,
    n_locations: int = 2**32,
    n_rows: int | None = None,
    threads: int = 1,
) -> Plan:
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
        Typical number of nonzeros of a row; 100 if None, or all locations if they are fewer.
    heaviness : float >= 1
        For core2: how heavy-tailed the values are, f sum u_i^4 of a unit row with f
        nonzeros. It is 1 for binary rows, about 2 for TF-IDF, and hundreds for counts.
    n_locations : int
        `Recipe.n_locations`: the number of columns up to 65,536, else 2**32.
    n_rows, threads : int, optional
        For the forecast of total bytes and of seconds (right to a factor of about three).

    Examples
    --------
    >>> from corekernels import theory
    >>> theory.plan(0.05, kernel="resemblance", n_bits=None).n_hashes
    385
    >>> wanted = theory.plan(0.05, kernel="core1", R=0.3, rho=0.5, n_rows=1_000_000)
    >>> wanted.n_hashes, wanted.n_bytes
    (664, 2000000000)
    >>> round(theory.plan(n_hashes=wanted.n_hashes, kernel="core1", R=0.3, rho=0.5).error, 3)
    0.05
    """
    if (error is None) == (n_hashes is None):
        raise ParameterError("plan: give either error or n_hashes.")
    if kernel not in KERNELS:
        raise ParameterError(f"kernel: got {kernel!r}; choose one of {', '.join(KERNELS)}.")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence: got {confidence!r}; give a number between 0 and 1.")
    if error is not None and not error > 0:
        raise ParameterError(f"error: got {error!r}; give a number > 0.")
    _require_ranges(n_hashes, n_bits, R, rho, length, heaviness, n_locations, n_rows, threads)
    length = min(100, n_locations) if length is None else length
    slot = _slot_variance(kernel, n_bits, R, rho, length, heaviness, n_locations)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    if n_hashes is None:
        needed = slot * (z / error) * (z / error)  # type: ignore[operator]
        if not needed < 2**31:
            raise ParameterError(f"error: got {error!r}, which takes too many hashes; give more.")
        n_hashes = max(1, math.ceil(needed))
    per_row = bytes_per_row(kernel, n_hashes, n_bits, n_locations)
    minima = length / _MINIMA_RATE
    if n_locations <= _MOST_IN_SIEVE:
        minima = min(minima, n_locations / length * _SIEVE_SECONDS)
    projections = length / _PROJECTION_RATE if kernel == "core1" else 0
    seconds = n_hashes * (minima + projections + _SLOT_SECONDS) / threads
    return Plan(
        kernel=kernel,
        n_hashes=n_hashes,
        n_bits=n_bits,
        error=z * math.sqrt(slot / n_hashes),
        confidence=confidence,
        bytes_per_row=per_row,
        n_bytes=None if n_rows is None else n_rows * per_row,
        seconds=None if n_rows is None else n_rows * seconds,
    )


def _require_ranges(
    n_hashes: int | None, n_bits: int | None, R: float | None, rho: float | None,
    length: int | None, heaviness: float, n_locations: int, n_rows: int | None, threads: int,
) -> None:  # fmt: skip
    for name, value, low, high, kind in (
        ("n_hashes", n_hashes, 1, 2**31 - 1, Integral),
        ("n_bits", n_bits, 1, 16, Integral),
        ("R", R, 0, 1, Real),
        ("rho", rho, -1, 1, Real),
        ("n_locations", n_locations, 1, 2**32, Integral),
        ("length", length, 1, n_locations, Integral),
        ("heaviness", heaviness, 1, math.inf, Real),
        ("n_rows", n_rows, 0, math.inf, Integral),
        ("threads", threads, 1, math.inf, Integral),
    ):
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        if value is not None and not (is_number and low <= value <= high):
            what = "an integer" if kind is Integral else "a number"
            upper = "" if high == math.inf else f" to {high}"
            raise ParameterError(f"{name}: got {value!r}; give {what} from {low}{upper}.")


def _slot_variance(
    kernel: str, n_bits: int | None, R: float | None, rho: float | None,
    length: int, heaviness: float, n_locations: int,
) -> float:  # fmt: skip
    """Variance of one slot; where R or rho is unknown, the largest over a fine grid."""
    by_chance = aliasing(length, length, n_locations, n_bits)
    C1, C2 = float(by_chance.C1), float(by_chance.C2)
    grid = [i / 100 for i in range(101)]
    worst = 0.0
    for r in grid if R is None else [R]:
        if kernel == "resemblance":
            worst = max(worst, float(variance_resemblance(r, 1, C1=C1, C2=C2)))
            continue
        for c in grid if rho is None else [rho]:
            if kernel == "core1":
                value = variance_core1(c, r, 1, C1=C1, C2=C2)
            else:
                shared = 2 * length * r / (1 + r)
                squares = heaviness * shared / length**2
                value = variance_core2(c, length, length, shared, squares, 1, C1=C1, C2=C2)
            worst = max(worst, float(value))
    return worst
