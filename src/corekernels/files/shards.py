"""Signature files put together: shard folders, and parts that become one file.

A shard folder holds `part-00000.safetensors`, `part-00001.safetensors` and so on. It is made as
the folder of parts of a job, and takes its name when all of them are there. Shards that are
appended come last to first: until the first of them is there, the others stand behind a gap and
do not count.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import Array, PathLike
from ..errors import DataError, FileError, RecipeMismatch
from ..io.atomic import Target
from ..io.containers import Stacked
from ..io.job_folder import unfinished_folder
from ..io.provenance import join_runs
from ..io.signature_file import SignatureFile, read_signatures, write_signatures
from ..recipe import Recipe


def part_name(number: int) -> str:
    """File name of a part.

    >>> part_name(3)
    'part-00003.safetensors'
    """
    return f"part-{number:05d}.safetensors"


def is_shard_folder(path: PathLike) -> bool:
    """Whether a folder holds shards."""
    return (Path(path) / part_name(0)).exists()


def part_files(path: PathLike) -> list[Path]:
    """The parts of a shard folder in order; a signature file is its own only part."""
    folder = Path(path)
    if not folder.is_dir():
        if unfinished_folder(folder).is_dir() and not folder.exists():
            raise FileError(f"{path}: left by an unfinished run; resume that, or hash anew.")
        return [folder]
    files = in_order(folder)
    is_next = (path.name == part_name(number) for number, path in enumerate(files))
    n_parts = next((number for number, fits in enumerate(is_next) if not fits), len(files))
    if n_parts < len(files) and not unfinished_folder(folder).is_dir():
        raise FileError(f"{path}: {part_name(n_parts)} is missing; copy the folder again.")
    if not n_parts:
        raise FileError(f"{path}: holds no {part_name(0)}; give a file or a shard folder.")
    return files[:n_parts]


def in_order(folder: Path) -> list[Path]:
    """All parts by their numbers, which have more than five digits where parts are many."""
    parts = folder.glob("part-*.safetensors")
    return sorted(parts, key=lambda path: (len(path.name), path.name))


def require_recipe(path: PathLike, recipe: Recipe) -> SignatureFile:
    """A file of signatures, which must have been hashed by this recipe."""
    contents = read_signatures(path)
    if contents.recipe != recipe:
        raise RecipeMismatch(contents.recipe, recipe)
    return contents


def merge_parts(paths: Sequence[PathLike], target: Target, name: PathLike, recipe: Recipe) -> None:
    """Put signature files of one recipe together, without reading them into memory.

    `name` is what errors call the target.
    """
    origins, parts = [], list[_Part]()
    for path in paths:
        contents = require_recipe(path, recipe)
        origins += contents.provenance
        parts.append(_Part(contents))
    n_rows = sum(part.n_rows for part in parts)
    stacked = {
        array: Stacked(dtype, (n_rows, *shape), partial(_arrays_of, parts, array))
        for array, (dtype, shape) in recipe.sketch.arrays.items()
    }
    numbers, classes = _stacked_labels(parts, n_rows, name)
    write_signatures(target, recipe, stacked, numbers, classes, join_runs(origins))


class _Part:
    """What is kept of a part while many are merged: no array."""

    def __init__(self, contents: SignatureFile) -> None:
        labels = contents.labels()
        self.dtype = None if labels is None else labels.dtype
        self.n_rows, self.classes = len(contents), contents.classes
        self._path, self._identity = contents.path, contents.identity

    def contents(self) -> SignatureFile:
        """The part, which must still be the same file."""
        return read_signatures(self._path, identity=self._identity)


def _arrays_of(parts: Sequence[_Part], name: str) -> Iterator[Array]:
    """An array of one part after the other."""
    return (part.contents().arrays[name] for part in parts)


def _stacked_labels(
    parts: Sequence[_Part], n_rows: int, name: PathLike
) -> tuple[Stacked | None, list[Any] | None]:
    """Labels of all parts as numbers, and the classes these number if labels are no numbers."""
    types = [part.dtype for part in parts if part.dtype is not None]
    if not types:
        return None, None
    if len(types) < len(parts):
        raise DataError(f"{name}: labels would be missing from some of its rows; give them all.")
    kinds = {dtype.kind if dtype.kind in "bU" else "number" for dtype in types}
    if len(kinds) > 1:
        raise DataError(f"{name}: labels of its rows are of several kinds; use one kind.")
    classes = None
    if kinds != {"number"}:
        classes = sorted({label for part in parts for label in part.classes or []})
    ordered = np.array(classes)
    dtype = np.dtype(np.int32) if classes is not None else np.result_type(*types)

    def numbers() -> Iterator[Array]:
        for part in parts:
            labels = part.contents().labels()
            assert labels is not None
            yield (labels if classes is None else np.searchsorted(ordered, labels)).astype(dtype)

    return Stacked(dtype, (n_rows,), numbers), classes
