"""A keyed mix of 64-bit integers: the finaliser of SplitMix64 (Steele, Lea & Flood 2014).

With `NUMBA_DISABLE_JIT=1` the products overflow on NumPy scalars, which is their purpose.
"""

import numpy as np

from .compilation import inlined_loop, loop

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@loop(inline="always")
def mix(z):
    """A 64-bit integer whose bits all depend on all bits of the 64-bit integer z."""
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@loop(inline="always")
def step(z, j):
    """Element j of the SplitMix64 stream that starts from state z."""
    return mix(z + np.uint64(j + 1) * _GOLDEN)


@inlined_loop
def mix_columns(indices, key, out):
    """For each column number its mix under the key."""
    for p in range(indices.shape[0]):
        out[p] = mix(np.uint64(indices[p]) ^ key)
