"""Arrays aligned to cache lines, and working memory that is kept from call to call."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from .._loops.simd.integers import LINE

Room = TypeVar("Room")  # an array, a tuple of arrays, or what has `nbytes`

_MOST_KEPT = 1 << 27  # bytes

_kept: dict[Any, list[Any]] = {}  # by what it was made of
_n_made = 0  # bytes, of what is kept or in use


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros that begin at a cache line, so that aligned vectors in them never cross one.

    >>> aligned_zeros((2, 3), "float32").ctypes.data % 64
    0
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + n_bytes].view(dtype).reshape(shape)


class working_memory(Generic[Room]):
    """Scratch of threads: `next` gives that of one, made by `make(*arguments)` or kept.

    A loop must restore its initial state. It is kept for later calls with the same arguments, up to
    128 MB in all, as making it anew for a short call (zeros for each of a million columns and
    sixteen threads) would take longer than the call. After an error it is not kept.

    >>> with working_memory(np.zeros, 3) as rooms:
    ...     next(rooms)
    array([0., 0., 0.])
    """

    def __init__(self, make: Callable[..., Room], *arguments: Any) -> None:
        self._make, self._arguments = make, arguments
        self._kept: list[Room] = _kept.setdefault((make, arguments), [])
        self._used: list[Room] = []
        self._n_made = 0

    def __enter__(self) -> "working_memory[Room]":
        return self

    def __next__(self) -> Room:
        try:
            room = self._kept.pop()
        except IndexError:  # none is left: other calls may take from it, too
            room = self._make(*self._arguments)
            self._n_made += _n_bytes(room)
        self._used.append(room)
        return room

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        global _n_made
        if kind is not None:
            return
        self._kept.extend(self._used)
        _n_made += self._n_made
        if _n_made > _MOST_KEPT:
            _kept.clear()
            _n_made = 0


@lru_cache(maxsize=256)
def common_size(size: int) -> int:
    """A size that is a little larger, and the same for others near it: for `working_memory`.

    >>> common_size(10), common_size(70_000), common_size(70_001)
    (1024, 73728, 73728)
    """
    step = max(1024, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step


def _n_bytes(room: Any) -> int:
    arrays = [room] if hasattr(room, "nbytes") else room
    return sum(array.nbytes for array in arrays)
