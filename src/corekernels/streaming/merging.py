"""Several signature files, one below the other, as one file: read and written piece by piece."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._signature_file import read_signatures, unpack_labels, write_signatures
from ..errors import DataError, RecipeMismatch
from ..signatures import Signatures

Array = npt.NDArray[Any]


class Stacked:
    """Arrays that lie in several files, seen as one; only slices of rows are ever read."""

    def __init__(self, parts: Sequence[Array], convert: Callable[[Array], Array]) -> None:
        self._parts, self._convert = parts, convert
        self._ends = np.cumsum([len(part) for part in parts])
        first = convert(parts[0][:0])
        self.dtype, self.itemsize, self.ndim = first.dtype, first.itemsize, first.ndim
        self.shape = (int(self._ends[-1]), *parts[0].shape[1:])
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.nbytes = self.size * self.itemsize

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, rows: slice) -> Array:
        start, stop, _ = rows.indices(len(self))
        pieces = [np.empty((0, *self.shape[1:]), self.dtype)]
        for part, end in zip(self._parts, self._ends, strict=True):
            begin = end - len(part)
            if start < end and stop > begin:
                piece = part[max(0, start - begin) : min(len(part), stop - begin)]
                pieces.append(self._convert(piece))
        return np.concatenate(pieces)

    def tobytes(self) -> bytes:
        """All bytes at once: for arrays without rows."""
        return self[:].tobytes()


def merge_parts(paths: Sequence[Path], target: Path) -> None:
    """Put signature files of one recipe together into `target`, whole or not at all."""
    if len(paths) == 1 and paths[0] != target:
        os.replace(paths[0], target)
        return
    files = [read_signatures(path) for path in paths]
    recipe = files[0][0]
    parts, labels = [], []
    sources: list[dict[str, Any]] = []
    for path, (other, arrays, about) in zip(paths, files, strict=True):
        if other != recipe:
            raise RecipeMismatch(recipe, other)
        S = Signatures._checked(path, other, arrays)
        parts.append(S._arrays())
        labels.append(unpack_labels(path, arrays, about, len(S)))
        sources.extend(about.get("sources") or [])
    stacked = {
        name: Stacked([part[name] for part in parts], lambda array: array) for name in parts[0]
    }
    numbers, classes = _stack_labels(labels, target)
    write_signatures(target, recipe, stacked, numbers, classes, joined_sources(sources))


def _stack_labels(labels: list[Array | None], target: Path) -> tuple[Stacked | None, Any]:
    """Labels of all parts as numbers, and the classes these number if labels are no numbers."""
    known = [y for y in labels if y is not None]
    if not known:
        return None, None
    if len(known) < len(labels):
        raise DataError(f"{target}: labels would be missing from some of its rows; give them all.")
    kinds = {y.dtype.kind in "bU" for y in known}
    if kinds == {True, False}:
        raise DataError(f"{target}: some labels are numbers and some are not; use one kind.")
    if kinds == {False}:
        dtype = np.result_type(*(y.dtype for y in known))
        return Stacked(known, lambda y: y.astype(dtype)), None
    classes = np.unique(np.concatenate([np.unique(y) for y in known]))
    return (
        Stacked(known, lambda y: np.searchsorted(classes, y).astype(np.int32)),
        classes.tolist(),
    )


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
