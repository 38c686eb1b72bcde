"""What is random in projections: tables of directions, or rotations; and the phases of cosines.

Numbers in tables are bfloat16, the upper half of a single precision number, two to a word.
"""

import math

import numpy as np
from scipy.linalg import hadamard
from scipy.special import ndtri

from .._core.memory import aligned_zeros
from .._core.types import Array
from .._core.validation import read_only
from .._loops.hashing.banks import Banks
from .._loops.hashing.cosines import Waves
from .._loops.hashing.projection import TILE
from .._loops.hashing.rotation import BUCKETS, PLACES, SIGN_VECTORS, Rotations
from ..recipe import DIRECTIONS, NARROW_COLUMNS, Recipe
from ..theory.banks import share_slots
from .banks import make_banks, own_rows, round_up, wrapped
from .streams import Key, Purpose, mix_key, permutation, stream

_LINE = 16  # numbers: slices that start at a multiple of it load fastest


def make_rotations(recipe: Recipe) -> Rotations:
    """What is random in the rotations that project rows."""
    banks = range(-(-recipe.n_hashes // BUCKETS))
    is_minus = [
        stream(recipe.seed, Purpose.NUMBER, bank, BUCKETS) >> np.uint64(63) for bank in banks
    ]
    signs = np.where(np.array(is_minus), -1, 1)
    slots, places = np.arange(BUCKETS), np.arange(PLACES)
    vectors = 1 - 2 * (np.array(SIGN_VECTORS)[:, None] >> places & 1)
    patterns = hadamard(PLACES)[:, None] * vectors
    # for each bank and vector, the numbers of bucket 0; those of the others are in another order.
    # Sums of integers, divided last: where a sum is 0, fractions would leave a sign or a remainder
    # that depends on the processor.
    sums = (signs[:, None] * np.tile(vectors, BUCKETS // PLACES)) @ hadamard(BUCKETS)
    numbers = sums / math.sqrt(BUCKETS)
    return Rotations(
        keys=read_only(np.array([mix_key(recipe.seed, Key.DIRECTION, bank) for bank in banks])),
        signs=_aligned(signs / math.sqrt(BUCKETS)),
        patterns=_aligned(np.stack([patterns, -patterns], axis=2)),
        slices=_aligned(numbers[:, :, slots ^ places[:, None]].swapaxes(1, 2)),
    )


def _aligned(numbers: Array) -> Array:
    """Numbers of single precision that begin at a cache line."""
    out = aligned_zeros(numbers.shape, np.float32)
    out[:] = numbers
    return read_only(out)


def direction_banks(recipe: Recipe) -> Banks | None:
    """Tables whose slices hold the random directions; None if they are hashed on the fly."""
    if recipe.scheme != "independent":
        return _circulant(recipe)
    if recipe.has_own_tables:
        return _independent(recipe)
    return None


def make_waves(recipe: Recipe) -> Waves:
    """How projections become the angles whose cosines are the weights."""
    phases = stream(recipe.seed, Purpose.PHASE, 0, recipe.n_hashes) >> np.uint64(40)
    scale = math.sqrt(recipe.gamma or 0.0) / (2 * math.pi)
    return Waves(np.float32(scale), read_only(phases * 2.0**-24, np.float32))


def random_numbers(projection: str | None) -> Array:
    """The 2^16 equally likely numbers, of mean 0 and variance 1, that directions are made of.

    They are rounded to bfloat16.
    """
    if projection == "rademacher":
        return read_only(np.repeat([-1.0, 1.0], DIRECTIONS // 2), np.float32)
    quantiles = ndtri((np.arange(DIRECTIONS) + 0.5) / DIRECTIONS)
    scaled = quantiles / np.sqrt(np.mean(quantiles**2))
    bits = scaled.astype(np.float32).view(np.uint32)
    to_even = np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return read_only(((bits + to_even) & np.uint32(0xFFFF0000)).view(np.float32))


def in_pairs(first: Array, second: Array) -> Array:
    """Words whose lower halves are the first numbers and whose upper halves the second."""
    low, high = (np.ascontiguousarray(half).view(np.uint32) for half in (first, second))
    return (low >> np.uint32(16)) | high


def _circulant(recipe: Recipe) -> Banks:
    numbers = random_numbers(recipe.projection)
    n_banks, width = share_slots(recipe.n_hashes, DIRECTIONS)
    low, high = (
        np.array(
            [
                numbers[permutation(recipe.seed, Purpose.NUMBER, 2 * bank + half, DIRECTIONS)]
                for bank in range(n_banks)
            ]
        )
        for half in (0, 1)
    )
    tables = wrapped(in_pairs(low, high), DIRECTIONS + round_up(width, TILE) // 2)
    if recipe.n_columns > NARROW_COLUMNS:
        keys = [mix_key(recipe.seed, Key.DIRECTION, bank) for bank in range(n_banks)]
        return make_banks(n_banks, width, DIRECTIONS, tables, mix_keys=keys)
    stride = min(_LINE, DIRECTIONS >> (recipe.n_columns - 1).bit_length())  # as far apart as can be
    starts = [
        permutation(recipe.seed, Purpose.DIRECTION, bank, DIRECTIONS // stride)
        for bank in range(n_banks)
    ]
    return make_banks(
        n_banks,
        width,
        DIRECTIONS,
        tables,
        start_of_column=np.array(starts)[:, : recipe.n_columns] * stride,
    )


def _independent(recipe: Recipe) -> Banks:
    n_columns, n_hashes = recipe.n_columns, recipe.n_hashes
    numbers = random_numbers(recipe.projection)
    table = np.zeros((n_columns, round_up(n_hashes, TILE)), np.float32)
    for slot in range(n_hashes):
        entries = stream(recipe.seed, Purpose.ENTRY, slot, n_columns) >> np.uint64(48)
        table[:, slot] = numbers[entries]
    halves = table.reshape(n_columns, -1, 2, _LINE)
    words = in_pairs(halves[:, :, 0], halves[:, :, 1]).reshape(n_columns, -1)
    return own_rows(words, n_hashes)
