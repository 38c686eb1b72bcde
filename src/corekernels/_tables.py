"""From a recipe to its hash tables: the hash contract, version 1.

Everything random is a function of the recipe alone. Streams are raw 64-bit outputs
of Philox4x64-10, keyed by (seed, purpose) and started at counter (0, 0, index, 0);
permutations are the stable argsort of such a stream. Raw streams of NumPy's bit
generators never change, its shuffles and normal variates may. `docs/contract.md`
describes the whole contract; golden vectors in the tests hold it still.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ._loops.mixing import give_signs, look_up, mix_columns
from ._memory import aligned_zeros
from ._validation import read_only

Array = npt.NDArray[Any]

CONTRACT_VERSION = 1
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
    def n_hashes(self) -> int: ...
    @property
    def scheme(self) -> str: ...
    @property
    def projection(self) -> str | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def n_columns(self) -> int: ...


@dataclass(frozen=True)
class Slices:
    """Slots `first` to `last`: the slice of column c in `table` starts at `starts_of(c)`."""

    first: int
    last: int
    table: Array
    by_column: Array | None  # start of each column, or None: the columns are mixed
    mix_key: np.uint64
    inverse: Array | None = None  # place of each location in the circular table

    @cached_property
    def low(self) -> Array:
        """A table of 16-bit locations cut off at 255; empty for wider ones."""
        wide = self.table.dtype != np.uint16
        return read_only(np.minimum(self.table[: 0 if wide else None], 255), np.uint8)

    @cached_property
    def long(self) -> int:
        """Nonzeros of a row whose minima lie below 255, but for a share of exp(-8) or less."""
        if len(self.low) == 0:
            return int(np.iinfo(np.int64).max)
        return 1 + 8 * (int(self.table.max()) + 1) // 255

    def starts_of(self, indices: Array) -> Array:
        """Where the slices of these columns start."""
        if self.by_column is not None:
            out = np.empty(len(indices), np.int32)
            look_up(indices, self.by_column, out)
            return read_only(out)
        n_positions = len(self.table) - (self.last - self.first)
        bits = n_positions.bit_length() - 1
        return read_only((mixed(indices, self.mix_key) >> np.uint64(64 - bits)), np.int32)


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
    return np.uint64(stream(recipe.seed, _KEYS, bank, 8)[use])


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
def minwise_slices(recipe: Hashing) -> tuple[Slices, ...]:
    """Tables whose slices hold the locations; none if the scheme hashes on the fly."""
    if recipe.scheme == "circulant":
        return _circulant_minwise(recipe)
    if recipe.scheme == "independent" and has_own_tables(recipe):
        return (_independent_minwise(recipe),)
    return ()


@lru_cache(maxsize=4)
def projection_slices(recipe: Hashing) -> tuple[Slices, ...]:
    """Tables whose slices hold the random directions; none if they are hashed on the fly."""
    if recipe.scheme != "independent":
        return _circulant_projection(recipe)
    if has_own_tables(recipe):
        return (_independent_projection(recipe),)
    return ()


def signed(recipe: Hashing, indices: Array, values: Array) -> Array:
    """Values times a random sign of their columns, so that columns may share a direction."""
    out = np.empty_like(values)
    give_signs(indices, values, key(recipe, SIGN_KEY), out)
    return out


def random_numbers(projection: str | None) -> Array:
    """The 2^16 equally likely numbers of mean 0 and variance 1 that directions are made of."""
    if projection == "rademacher":
        return read_only(np.repeat([-1.0, 1.0], DIRECTIONS // 2), np.float32)
    quantiles = ndtri((np.arange(DIRECTIONS) + 0.5) / DIRECTIONS)
    return read_only(quantiles / np.sqrt(np.mean(quantiles**2)), np.float32)


def _spans(n_hashes: int, most: int) -> list[tuple[int, int]]:
    """Even shares of the slots, at most `most` each, whole vectors of them where possible."""
    width = -(-n_hashes // -(-n_hashes // most))
    width = min(most, -(-width // 64) * 64)
    return [(first, min(first + width, n_hashes)) for first in range(0, n_hashes, width)]


def _circulant_minwise(recipe: Hashing) -> tuple[Slices, ...]:
    wide = recipe.n_columns > NARROW
    n_positions = WIDE_POSITIONS if wide else recipe.n_columns
    banks = []
    for bank, (first, last) in enumerate(_spans(recipe.n_hashes, n_positions)):
        inverse = by_column = None
        if wide:
            halves = stream(recipe.seed, _LOCATION, bank, n_positions // 2)
            circle = halves.astype("<u8").view("<u4").astype(np.uint32)
        else:
            place = permutation(recipe.seed, _LOCATION, bank, n_positions)
            inverse = read_only(place, np.uint16)
            circle = np.empty(n_positions, np.uint16)
            circle[place] = np.arange(n_positions)
            by_column = read_only(permutation(recipe.seed, _POSITION, bank, n_positions), np.int32)
        table = read_only(np.concatenate([circle, circle[: last - first]]))
        mix_key = key(recipe, POSITION_KEY, bank)
        banks.append(Slices(first, last, table, by_column, mix_key, inverse))
    return tuple(banks)


def _circulant_projection(recipe: Hashing) -> tuple[Slices, ...]:
    numbers = random_numbers(recipe.projection)
    banks = []
    for bank, (first, last) in enumerate(_spans(recipe.n_hashes, DIRECTIONS)):
        circle = numbers[permutation(recipe.seed, _NUMBER, bank, DIRECTIONS)]
        by_column = None
        if recipe.n_columns <= NARROW:
            # as far apart as they can be: slices that start at a cache line load fastest
            stride = min(16, DIRECTIONS >> (recipe.n_columns - 1).bit_length())
            spots = permutation(recipe.seed, _DIRECTION, bank, DIRECTIONS // stride)
            by_column = read_only(spots[: recipe.n_columns] * stride, np.int32)
        table = _at_cache_line(np.concatenate([circle, circle[: last - first]]))
        banks.append(Slices(first, last, table, by_column, key(recipe, DIRECTION_KEY, bank)))
    return tuple(banks)


def _at_cache_line(table: Array) -> Array:
    """The same table where a cache line begins."""
    out = aligned_zeros(table.shape, table.dtype)
    out[:] = table
    return read_only(out)


def _independent_minwise(recipe: Hashing) -> Slices:
    D, k = recipe.n_columns, recipe.n_hashes
    table = np.empty((D, k), np.uint16)
    for slot in range(k):
        table[:, slot] = permutation(recipe.seed, _PERMUTATION, slot, D)
    return _own_rows(table)


def _independent_projection(recipe: Hashing) -> Slices:
    D, k = recipe.n_columns, recipe.n_hashes
    numbers = random_numbers(recipe.projection)
    table = np.empty((D, k), np.float32)
    for slot in range(k):
        table[:, slot] = numbers[stream(recipe.seed, _ENTRY, slot, D) >> np.uint64(48)]
    return _own_rows(table)


def _own_rows(table: Array) -> Slices:
    """Each column's slice is a row of its own."""
    n_columns, n_slots = table.shape
    starts = read_only(np.arange(n_columns) * n_slots, np.int32)
    return Slices(0, n_slots, read_only(table.reshape(-1)), starts, np.uint64(0))
