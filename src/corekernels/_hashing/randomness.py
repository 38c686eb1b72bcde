"""The randomness of the hash contract: addressed by the seed and a purpose, not drawn.

Streams are raw 64-bit outputs of Philox4x64-10, keyed by (seed, purpose) and started at
counter (0, 0, index, 0). NumPy promises that raw streams of its bit generators never change;
its shuffles and normal variates may. `docs/contract.md` has the whole contract.
"""

from enum import IntEnum
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.validation import read_only
from .._loops.mixing import mix_columns

_NUMBERS = 1 << 16  # in the list of random numbers, equally likely


class Purpose(IntEnum):
    """What a stream is for."""

    POSITION = 0
    LOCATION = 1
    NUMBER = 3
    PERMUTATION = 4
    ENTRY = 5
    KEYS = 6
    PHASE = 7


class Key(IntEnum):
    """What a key of the mix is for: its place in the stream of keys."""

    POSITION = 0
    DIRECTION = 1
    SLOT = 5
    ENTRY = 6


def stream(seed: int, purpose: Purpose, index: int, size: int) -> npt.NDArray[np.uint64]:
    """`size` raw 64-bit numbers."""
    philox = np.random.Philox(
        key=np.array([seed, purpose], np.uint64), counter=np.array([0, 0, index, 0], np.uint64)
    )
    return np.atleast_1d(philox.random_raw(size))


def permutation(seed: int, purpose: Purpose, index: int, size: int) -> npt.NDArray[np.int64]:
    """A random permutation of 0 to size - 1: the stable argsort of a stream."""
    return np.argsort(stream(seed, purpose, index, size), kind="stable")


def mix_key(seed: int, use: Key, bank: int = 0) -> np.uint64:
    """The key of one use of the mix."""
    return np.uint64(_keys(seed, bank)[use])


@lru_cache(maxsize=32)
def _keys(seed: int, bank: int) -> npt.NDArray[np.uint64]:
    """The keys of all uses; cached, because every block of rows asks for some."""
    return read_only(stream(seed, Purpose.KEYS, bank, 8))


def mixed(indices: Array, key: np.uint64) -> Array:
    """The keyed 64-bit mix of each column number."""
    out = np.empty(len(indices), np.uint64)
    mix_columns(indices, key, out)
    return read_only(out)


@cache
def random_numbers() -> Array:
    """The list of random numbers, nearly normal, of mean 0 and variance 1, as bfloat16."""
    from scipy.special import ndtri  # on use: few jobs draw them, and the import is long

    quantiles = ndtri((np.arange(_NUMBERS) + 0.5) / _NUMBERS)
    scaled = quantiles / np.sqrt(np.mean(quantiles**2))
    bits = scaled.astype(np.float32).view(np.uint32)
    to_even = np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return read_only(((bits + to_even) & np.uint32(0xFFFF0000)).view(np.float32))
