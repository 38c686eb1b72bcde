"""Several signature files, one below the other, as one file: read and written piece by piece."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._core.types import Array
from .._hashing.signature_file import read_signatures, write_signatures
from ..errors import DataError, RecipeMismatch
from ..io.provenance import Origin, join_runs


class Stacked:
    """An array that is split over several files, seen as one; only slices of rows are read.

    One file is mapped at a time, since mapped pages count as memory of the process.
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
    recipe = read_signatures(paths[0]).recipe
    parts: list[_Part] = []
    provenance: list[Origin] = []
    for path in paths:
        found = read_signatures(path)
        if found.recipe != recipe:
            raise RecipeMismatch(recipe, found.recipe)
        labels = found.labels()
        parts.append(_Part(len(found), None if labels is None else labels.dtype, found.classes))
        provenance.extend(found.provenance)

    def reader(name: str) -> Callable[[int], Callable[[slice], Array]]:
        return lambda number: read_signatures(paths[number]).arrays[name].__getitem__

    lengths = [part.n_rows for part in parts]
    stacked = {
        name: Stacked(lengths, np.empty((0, *shape), dtype), reader(name))
        for name, (dtype, shape) in recipe.arrays.items()
    }
    numbers, classes = _stack_labels(paths, parts, target)
    write_signatures(target, recipe, stacked, numbers, classes, join_runs(provenance))


@dataclass(frozen=True)
class _Part:
    """How many rows a part has, and what its labels are."""

    n_rows: int
    label_type: np.dtype[Any] | None
    classes: list[Any] | None


def _stack_labels(
    paths: Sequence[Path], parts: Sequence[_Part], target: Path
) -> tuple[Stacked | None, list[Any] | None]:
    """Labels of all parts as numbers, and the classes these number if labels are no numbers."""
    types = [part.label_type for part in parts if part.label_type is not None]
    if not types:
        return None, None
    if len(types) < len(parts):
        raise DataError(f"{target}: labels would be missing from some of its rows; give them all.")
    kinds = {dtype.kind if dtype.kind in "bU" else "number" for dtype in types}
    if len(kinds) > 1:
        raise DataError(f"{target}: labels of its rows are of several kinds; use one kind.")
    classes = None
    if kinds != {"number"}:
        classes = sorted({name for part in parts for name in part.classes or []})
    known = np.array(classes)
    dtype = np.dtype(np.int32) if classes is not None else np.result_type(*types)

    def read(number: int) -> Callable[[slice], Array]:
        labels = read_signatures(paths[number]).labels()
        assert labels is not None

        def numbers(rows: slice) -> Array:
            some = labels[rows]
            return (some if classes is None else np.searchsorted(known, some)).astype(dtype)

        return numbers

    return Stacked([part.n_rows for part in parts], np.empty(0, dtype), read), classes
