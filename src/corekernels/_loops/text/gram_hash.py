"""The hash of an n-gram: version 1 of "Text to columns" in `docs/contract.md`.

With `NUMBA_DISABLE_JIT=1` the products overflow on NumPy scalars, which is their purpose.
"""

import numpy as np

from ..compilation import inner_loop, loop
from ..mixing import mix
from ..simd.integers import load_word

COLUMN_BITS = 62

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_EIGHT, _WORD_BITS = np.uint64(8), np.uint64(64)
_DROPPED_BITS = np.uint64(64 - COLUMN_BITS)


@loop(inline="always")
def absorb_bytes(text, start, stop):
    """What `mix` turns into the hash of bytes start to stop; they are some, and 8 more are there.

    The last step is left to a loop of its own, which vectorises.
    """
    start = np.uint64(start)
    n_bytes = np.uint64(stop) - start
    h = n_bytes * _GOLDEN
    while n_bytes > _EIGHT:
        h = mix(h ^ load_word(text, start))
        start += _EIGHT
        n_bytes -= _EIGHT
    rest = _ALL >> (_WORD_BITS - _EIGHT * n_bytes)
    return h ^ (load_word(text, start) & rest)


@inner_loop
def mix_all(n, numbers):
    """Replace the first n numbers by their mixes."""
    for i in range(n):
        numbers[i] = mix(numbers[i])


@loop(inline="always")
def extend_gram(h, word):
    """The hash of a sequence of words followed by another one."""
    return mix(h * _GOLDEN ^ word)


@loop(inline="always")
def column_of(h):
    """The column of an n-gram: the upper 62 bits of its hash."""
    return h >> _DROPPED_BITS
