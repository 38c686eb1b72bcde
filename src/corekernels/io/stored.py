"""Arrays about to be written to a file, which need not be in memory, or not in one piece."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np

from .._core.types import Array
from .sources import Identity, open_same

_WRITE_BYTES = 1 << 18
_COPY_BYTES = 1 << 24


class Stored(Protocol):
    """An array that can write its own bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def write_to(self, file: IO[bytes]) -> None:
        """Write all bytes, in the order of the rows."""


class Pieces:
    """Arrays in memory, or mapped into it, one below the other."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = arrays
        self.dtype = arrays[0].dtype
        self.shape = arrays[0].shape
        if self.shape:
            self.shape = (sum(len(array) for array in arrays), *self.shape[1:])

    def write_to(self, file: IO[bytes]) -> None:
        """Write in short runs, so that a mapped array is not read into memory whole."""
        for array in self._arrays:
            if array.ndim == 0 or array.size == 0:
                file.write(array.tobytes())
                continue
            rows = max(1, _WRITE_BYTES // max(1, array[:1].nbytes))
            for start in range(0, len(array), rows):
                file.write(np.ascontiguousarray(array[start : start + rows]).data)


class Span(NamedTuple):
    """Consecutive bytes of a file."""

    path: Path
    start: int
    n_bytes: int
    identity: Identity  # of the file


class Spans:
    """An array whose bytes lie in several files, one below the other; they are never in memory."""

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...], spans: Iterable[Span]) -> None:
        self.dtype, self.shape = dtype, shape
        self._spans = spans

    def write_to(self, file: IO[bytes]) -> None:
        """Copy the bytes, by the system itself where it can."""
        file.flush()
        for path, start, n_bytes, identity in self._spans:
            with open_same(path, identity) as source:
                _copy(source, start, n_bytes, file)


class Computed:
    """An array that a function makes in consecutive pieces, each asked for once, in order."""

    def __init__(
        self, dtype: np.dtype[Any], shape: tuple[int, ...], pieces: Callable[[], Iterable[Array]]
    ) -> None:
        self.dtype, self.shape = dtype, shape
        self._pieces = pieces

    def write_to(self, file: IO[bytes]) -> None:
        """Write one piece after the other."""
        for piece in self._pieces():
            file.write(np.ascontiguousarray(piece).data)


def _copy(source: IO[bytes], start: int, n_bytes: int, target: IO[bytes]) -> None:
    """Append bytes of one file to another, whose buffer is empty."""
    end = start + n_bytes
    try:
        while start < end:
            n = os.copy_file_range(source.fileno(), target.fileno(), end - start, start)
            if n == 0:
                break
            start += n
    except (AttributeError, OSError):  # not known here, or not between these file systems
        pass
    target.seek(0, os.SEEK_END)
    source.seek(start)
    while start < end:
        data = source.read(min(_COPY_BYTES, end - start))
        if not data:
            raise EOFError(f"{source.name} is cut short")
        target.write(data)
        start += len(data)
