"""Arrays aligned to cache lines."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .._loops.simd.llvm import LINE


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros that begin at a cache line, so that aligned vectors in them never cross one.

    >>> aligned_zeros((2, 3), "float32").ctypes.data % 64
    0
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + n_bytes].view(dtype).reshape(shape)
