"""What is random in projections: rotations, or a number for each column and slot; and the phases
of cosines.

Numbers in tables are bfloat16, the upper half of a single precision number, two to a word.
"""

import math
from functools import cache

import numpy as np
from scipy.linalg import hadamard
from scipy.special import ndtri

from .._core.arguments import Array
from .._core.memory import aligned_zeros
from .._core.validation import read_only
from .._loops.hashing.cosines import Waves
from .._loops.hashing.projection import HALVES, TILE
from .._loops.hashing.rotation import BUCKETS, PLACES, SIGN_VECTORS, Rotations
from ..recipe import Recipe
from .banks import round_up
from .streams import Key, Purpose, mix_key, stream

_NUMBERS = 1 << 16  # equally likely, of which the table of directions has one for each entry


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


def make_directions(recipe: Recipe) -> Array:
    """The random numbers of each column, in words of two, one row per column."""
    numbers = random_numbers()
    table = np.zeros((recipe.n_columns, round_up(recipe.n_hashes, TILE)), np.float32)
    for slot in range(recipe.n_hashes):
        entries = stream(recipe.seed, Purpose.ENTRY, slot, recipe.n_columns) >> np.uint64(48)
        table[:, slot] = numbers[entries]
    halves = table.view(np.uint32).reshape(recipe.n_columns, -1, 2, HALVES)
    words = halves[:, :, 0] >> np.uint32(16) | halves[:, :, 1]
    return _aligned(words.reshape(recipe.n_columns, -1))


def make_waves(recipe: Recipe) -> Waves:
    """How projections become the angles whose cosines are the weights."""
    phases = stream(recipe.seed, Purpose.PHASE, 0, recipe.n_hashes) >> np.uint64(40)
    scale = math.sqrt(recipe.gamma or 0.0) / (2 * math.pi)
    return Waves(np.float32(scale), read_only(phases * 2.0**-24, np.float32))


@cache
def random_numbers() -> Array:
    """Equally likely numbers that are nearly normal, of mean 0 and variance 1, as bfloat16."""
    quantiles = ndtri((np.arange(_NUMBERS) + 0.5) / _NUMBERS)
    scaled = quantiles / np.sqrt(np.mean(quantiles**2))
    bits = scaled.astype(np.float32).view(np.uint32)
    to_even = np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return read_only(((bits + to_even) & np.uint32(0xFFFF0000)).view(np.float32))


def _aligned(numbers: Array) -> Array:
    """Numbers, those with a point in single precision, that begin at a cache line."""
    out = aligned_zeros(numbers.shape, np.uint32 if numbers.dtype == np.uint32 else np.float32)
    out[:] = numbers
    return read_only(out)
