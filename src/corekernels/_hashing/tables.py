"""From a recipe to its hash tables: the hash contract, version 3.

Everything random is a function of the recipe alone. Streams are raw 64-bit outputs
of Philox4x64-10, keyed by (seed, purpose) and started at counter (0, 0, index, 0);
permutations are the stable argsort of such a stream. Raw streams of NumPy's bit
generators never change, its shuffles and normal variates may. `docs/contract.md`
describes the whole contract; golden vectors in the tests hold it still.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from .._core.memory import aligned_zeros
from .._core.validation import read_only
from .._loops.hashing.banks import Banks
from .._loops.hashing.minwise import GROUP
from .._loops.hashing.mixing import give_signs, mix_columns
from .._loops.hashing.projection import TILE
from .._loops.hashing.sieve import STEP
from .._loops.simd.bit_sets import SLOTS, WORD

Array = npt.NDArray[Any]

CONTRACT_VERSION = 3
NARROW = 1 << 16  # up to here columns have tables of their own; beyond, they are mixed
WIDE_POSITIONS = 1 << 22
WIDE_LOCATIONS = 1 << 32
INDEPENDENT_ENTRIES = 1 << 22
DIRECTIONS = 1 << 16

# purposes of streams
_POSITION, _LOCATION, _DIRECTION, _NUMBER, _PERMUTATION, _ENTRY, _KEYS = range(7)
# uses of the mix
POSITION_KEY, DIRECTION_KEY, SIGN_KEY, BIN_KEY, PROBE_KEY, SLOT_KEY, ENTRY_KEY = range(7)


class Hashing(Protocol):
    """What the tables need to know of a recipe."""

    @property
    def kernel(self) -> str: ...
    @property
    def n_hashes(self) -> int: ...
    @property
    def scheme(self) -> str: ...
    @property
    def projection(self) -> str | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def n_columns(self) -> int: ...


def stream(seed: int, purpose: int, index: int, size: int) -> npt.NDArray[np.uint64]:
    """`size` raw 64-bit numbers, addressed, not drawn."""
    philox = np.random.Philox(
        key=np.array([seed, purpose], np.uint64), counter=np.array([0, 0, index, 0], np.uint64)
    )
    return np.atleast_1d(philox.random_raw(size))


def permutation(seed: int, purpose: int, index: int, size: int) -> npt.NDArray[np.int64]:
    """A random permutation of 0 to size - 1."""
    return np.argsort(stream(seed, purpose, index, size), kind="stable")


def mixed(indices: Array, mix_key: np.uint64) -> Array:
    """The keyed 64-bit mix of each column number."""
    out = np.empty(len(indices), np.uint64)
    mix_columns(indices, mix_key, out)
    return read_only(out)


def key(recipe: Hashing, use: int, bank: int = 0) -> np.uint64:
    """The key of one use of the mix."""
    return np.uint64(_keys(recipe.seed, bank)[use])


@lru_cache(maxsize=32)
def _keys(seed: int, bank: int) -> npt.NDArray[np.uint64]:
    """The keys of all uses; kept, because every block of rows asks for some."""
    return read_only(stream(seed, _KEYS, bank, 8))


def location_count(recipe: Hashing) -> int:
    """Size of the space that locations are drawn from."""
    if recipe.scheme == "one-permutation" or recipe.n_columns > NARROW:
        return WIDE_LOCATIONS
    if recipe.scheme == "independent" and not has_own_tables(recipe):
        return WIDE_LOCATIONS
    return recipe.n_columns


def has_own_tables(recipe: Hashing) -> bool:
    """Whether the independent scheme keeps a number for each column and slot."""
    return recipe.n_columns <= NARROW and recipe.n_columns * recipe.n_hashes <= INDEPENDENT_ENTRIES


@lru_cache(maxsize=4)
def minwise_banks(recipe: Hashing) -> Banks | None:
    """Tables whose slices hold the locations; None if the scheme hashes on the fly."""
    if recipe.scheme == "circulant":
        return _circulant_minwise(recipe)
    if recipe.scheme == "independent" and has_own_tables(recipe):
        return _independent_minwise(recipe)
    return None


@lru_cache(maxsize=4)
def projection_banks(recipe: Hashing) -> Banks | None:
    """Tables whose slices hold the random directions; None if they are hashed on the fly."""
    if recipe.scheme != "independent":
        return _circulant_projection(recipe)
    if has_own_tables(recipe):
        return _independent_projection(recipe)
    return None


def signed(recipe: Hashing, indices: Array, values: Array) -> Array:
    """Values times a random sign of their columns.

    Slots repeat each other's numbers at other columns, and the numbers of a table sum to 0:
    without signs both would show on rows of many values of one sign.
    """
    out = np.empty_like(values)
    give_signs(indices, values, key(recipe, SIGN_KEY), out)
    return out


def random_numbers(projection: str | None) -> Array:
    """The 2^16 equally likely numbers of mean 0 and variance 1 that directions are made of.

    They are rounded to bfloat16, the upper half of a single precision number.
    """
    if projection == "rademacher":
        return read_only(np.repeat([-1.0, 1.0], DIRECTIONS // 2), np.float32)
    quantiles = ndtri((np.arange(DIRECTIONS) + 0.5) / DIRECTIONS)
    scaled = quantiles / np.sqrt(np.mean(quantiles**2))
    bits = scaled.astype(np.float32).view(np.uint32)
    to_even = np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return read_only(((bits + to_even) & np.uint32(0xFFFF0000)).view(np.float32))


def in_pairs(first: Array, second: Array) -> Array:
    """Words whose lower halves are the first numbers and upper halves the second."""
    low, high = (np.ascontiguousarray(half).view(np.uint32) for half in (first, second))
    return (low >> np.uint32(16)) | high


def _shares(n_hashes: int, most: int) -> tuple[int, int]:
    """How many banks share the slots, at most `most` each, and their width.

    They are equal but for the last, and whole words wide where that fits.
    """
    width = -(-n_hashes // -(-n_hashes // most))
    width = min(most, -(-width // 64) * 64)
    return -(-n_hashes // width), width


def _whole(n_slots: int, tile: int) -> int:
    """The slots that loops read in whole tiles."""
    return -(-n_slots // tile) * tile


def _banks(
    width: int,
    n_positions: int,
    tables: Array,
    by_column: Array | None = None,
    mix_keys: Sequence[np.uint64] = (),
    inverse: Array | None = None,
    weighted: bool = False,
) -> Banks:
    """The banks, with what the sieve needs of them.

    Without an inverse there is no sieve, nor with less than a word of positions, where it
    would not pay.
    """
    n_banks = len(tables)
    places, long = np.empty((n_banks, 0), np.int64), int(np.iinfo(np.int64).max)
    if by_column is None:
        by_column = np.empty((n_banks, 0), np.int32)
    if inverse is not None and n_positions >= WORD:
        places = n_positions - 1 - inverse
        places = np.pad(places, ((0, 0), (0, -n_positions % STEP)), "edge")
        long = _long(n_positions, width, weighted)
    return Banks(
        width=width,
        n_positions=n_positions,
        tables=_at_cache_line(tables),
        by_column=read_only(by_column, np.int32),
        mix_keys=read_only(np.array(mix_keys, np.uint64)),
        mix_shift=np.uint64(65 - n_positions.bit_length()),
        places=read_only(places),
        long=long,
    )


def _long(n_positions: int, width: int, weighted: bool) -> int:
    """Nonzeros from which a row goes through the sieve.

    The sieve takes steps in proportion to M / f for f nonzeros in M positions, where there
    are f slices. The constants are nanoseconds a row and bank, measured on one machine; they
    decide the speed, not the result.
    """
    f = np.arange(1, n_positions + 1)
    groups, tiles = -(-width // GROUP), -(-width // SLOTS)
    if weighted:
        slices = 87 + 2.7 * f * groups
        sieve = 0.033 * n_positions + 1.0 * f + (200 + 10.0 * n_positions / f) * tiles
    else:
        slices = 53 + 2.3 * f * groups
        sieve = 39 + 0.029 * n_positions + 0.6 * f + (60 + 8.5 * n_positions / f) * tiles
    return 1 + int(np.count_nonzero(slices <= sieve))


def _at_cache_line(table: Array) -> Array:
    """The same table where a cache line begins."""
    out = aligned_zeros(table.shape, table.dtype)
    out[:] = table
    return read_only(out)


def _circulant_minwise(recipe: Hashing) -> Banks:
    wide = recipe.n_columns > NARROW
    n_positions = WIDE_POSITIONS if wide else recipe.n_columns
    n_banks, width = _shares(recipe.n_hashes, n_positions)
    length = n_positions + _whole(width, GROUP)
    if wide:
        keys = [key(recipe, POSITION_KEY, bank) for bank in range(n_banks)]
        halves = [stream(recipe.seed, _LOCATION, b, n_positions // 2) for b in range(n_banks)]
        circles = np.array(halves).astype("<u8").view("<u4").astype(np.uint32)
        return _banks(width, n_positions, _round(circles, length), mix_keys=keys)
    inverse, by_column = (
        np.array([permutation(recipe.seed, use, bank, n_positions) for bank in range(n_banks)])
        for use in (_LOCATION, _POSITION)
    )
    circles = np.empty(inverse.shape, np.uint16)
    np.put_along_axis(circles, inverse, np.arange(n_positions, dtype=np.uint16)[None], axis=1)
    weighted = recipe.kernel == "core2"  # values are wanted
    tables = _round(circles, length)
    return _banks(width, n_positions, tables, by_column, inverse=inverse, weighted=weighted)


def _round(circles: Array, length: int) -> Array:
    """Circular tables, gone round until they have the length."""
    return np.pad(circles, ((0, 0), (0, length - circles.shape[1])), "wrap")


def _circulant_projection(recipe: Hashing) -> Banks:
    numbers = random_numbers(recipe.projection)
    n_banks, width = _shares(recipe.n_hashes, DIRECTIONS)
    low, high = (
        np.array(
            [
                numbers[permutation(recipe.seed, _NUMBER, 2 * bank + half, DIRECTIONS)]
                for bank in range(n_banks)
            ]
        )
        for half in (0, 1)
    )
    length = DIRECTIONS + _whole(width, TILE) // 2
    tables = _round(in_pairs(low, high), length)
    if recipe.n_columns <= NARROW:
        # as far apart as they can be: slices that start at a cache line load fastest
        stride = min(16, DIRECTIONS >> (recipe.n_columns - 1).bit_length())
        spots = [
            permutation(recipe.seed, _DIRECTION, bank, DIRECTIONS // stride)
            for bank in range(n_banks)
        ]
        return _banks(width, DIRECTIONS, tables, np.array(spots)[:, : recipe.n_columns] * stride)
    keys = [key(recipe, DIRECTION_KEY, bank) for bank in range(n_banks)]
    return _banks(width, DIRECTIONS, tables, mix_keys=keys)


def _independent_minwise(recipe: Hashing) -> Banks:
    D, k = recipe.n_columns, recipe.n_hashes
    table = np.zeros((D, _whole(k, GROUP)), np.uint16)
    for slot in range(k):
        table[:, slot] = permutation(recipe.seed, _PERMUTATION, slot, D)
    return _own_rows(table, k)


def _independent_projection(recipe: Hashing) -> Banks:
    D, k = recipe.n_columns, recipe.n_hashes
    numbers = random_numbers(recipe.projection)
    table = np.zeros((D, _whole(k, TILE)), np.float32)
    for slot in range(k):
        table[:, slot] = numbers[stream(recipe.seed, _ENTRY, slot, D) >> np.uint64(48)]
    halves = table.reshape(D, -1, 2, 16)
    return _own_rows(in_pairs(halves[:, :, 0], halves[:, :, 1]).reshape(D, -1), k)


def _own_rows(table: Array, n_slots: int) -> Banks:
    """One bank, in which each column's slice is a row of its own."""
    n_columns, width = table.shape
    starts = np.arange(n_columns)[None] * width
    return _banks(n_slots, table.size, table.reshape(1, -1), starts)
