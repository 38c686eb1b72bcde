"""Several signature files, one below the other, as one file: read and written piece by piece."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._hashing.signature_file import read_signatures, unpack_labels, write_signatures
from ..errors import DataError, RecipeMismatch
from ..signatures import Signatures

Array = npt.NDArray[Any]


class Stacked:
    """An array that lies in several files, seen as one; only slices of rows are ever read.

    One file is mapped at a time: the pages of a mapping count as memory of the process.
    """

    def __init__(
        self, lengths: Sequence[int], empty: Array, read: Callable[[int], Callable[[slice], Array]]
    ) -> None:
        self._ends = np.cumsum(lengths)
        self._read = read
        self._open: tuple[int, Callable[[slice], Array]] | None = None
        self.dtype, self.itemsize, self.ndim = empty.dtype, empty.itemsize, empty.ndim
        self.shape = (int(self._ends[-1]), *empty.shape[1:])
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.nbytes = self.size * self.itemsize

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, rows: slice) -> Array:
        start, stop, _ = rows.indices(len(self))
        pieces = [np.empty((0, *self.shape[1:]), self.dtype)]
        begin = 0
        for number, end in enumerate(self._ends.tolist()):
            if start < end and stop > begin:
                some = slice(max(0, start - begin), min(end, stop) - begin)
                pieces.append(self._part(number)(some))
            begin = end
        return np.concatenate(pieces)

    def tobytes(self) -> bytes:
        """All bytes at once: for arrays without rows."""
        return self[:].tobytes()

    def _part(self, number: int) -> Callable[[slice], Array]:
        if self._open is None or self._open[0] != number:
            self._open = None  # unmapped before the next is mapped
            self._open = number, self._read(number)
        return self._open[1]


def merge_parts(paths: Sequence[Path], target: Path) -> None:
    """Put signature files of one recipe together into `target`, whole or not at all."""
    if len(paths) == 1 and paths[0] != target:
        os.replace(paths[0], target)
        return
    recipe = read_signatures(paths[0])[0]
    lengths: list[int] = []
    forms: list[tuple[np.dtype[Any] | None, list[Any] | None]] = []
    sources: list[dict[str, Any]] = []
    for path in paths:
        other, arrays, about = read_signatures(path)
        if other != recipe:
            raise RecipeMismatch(recipe, other)
        lengths.append(len(Signatures._checked(path, other, arrays)))
        labels = unpack_labels(path, arrays, about, lengths[-1])
        forms.append((None if labels is None else labels.dtype, about.get("classes")))
        sources.extend(about.get("sources") or [])

    def reader(name: str) -> Callable[[int], Callable[[slice], Array]]:
        return lambda number: read_signatures(paths[number])[1][name].__getitem__

    stacked = {
        name: Stacked(lengths, empty, reader(name))
        for name, empty in Signatures.empty(recipe, 0)._arrays().items()
    }
    numbers, classes = _stack_labels(paths, lengths, forms, target)
    write_signatures(target, recipe, stacked, numbers, classes, joined_sources(sources))


def _stack_labels(
    paths: Sequence[Path], lengths: list[int],
    forms: list[tuple[np.dtype[Any] | None, list[Any] | None]], target: Path,
) -> tuple[Stacked | None, list[Any] | None]:  # fmt: skip
    """Labels of all parts as numbers, and the classes these number if labels are no numbers."""
    types = [dtype for dtype, _ in forms if dtype is not None]
    if not types:
        return None, None
    if len(types) < len(forms):
        raise DataError(f"{target}: labels would be missing from some of its rows; give them all.")
    kinds = {"b" if dtype.kind == "b" else "U" if dtype.kind == "U" else "n" for dtype in types}
    if len(kinds) > 1:
        raise DataError(f"{target}: labels of its rows are of several kinds; use one kind.")
    classes = None
    if kinds != {"n"}:
        classes = sorted({name for _, names in forms for name in names or []})
    known = np.array(classes)
    dtype = np.dtype(np.int32) if classes is not None else np.result_type(*types)

    def read(number: int) -> Callable[[slice], Array]:
        _, arrays, about = read_signatures(paths[number])
        labels = unpack_labels(paths[number], arrays, about, lengths[number])

        def numbers(rows: slice) -> Array:
            some = labels[rows] if labels is not None else np.empty(0)
            return (some if classes is None else np.searchsorted(known, some)).astype(dtype)

        return numbers

    return Stacked(lengths, np.empty(0, dtype), read), classes


def joined_sources(sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same sources, runs of one of them taken together."""
    joined: list[dict[str, Any]] = []
    for entry in sources:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last["source"] == entry["source"]
            and last["first_row"] + last["rows"] == entry["first_row"]
        ):
            last["rows"] += entry["rows"]
        else:
            joined.append(dict(entry))
    return joined
