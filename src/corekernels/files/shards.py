"""Signature files put together: shard folders, and parts that become one file.

A shard folder holds `part-00000.safetensors`, `part-00001.safetensors` and so on. It is made as
the folder of parts of a job, and takes its name when all of them are there. Shards that are
appended come last to first: until the first of them is there, the others stand behind a gap and
do not count.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array, PathLike
from ..errors import DataError, FileError, RecipeMismatch
from ..io.atomic import Target, naming_target
from ..io.containers import Stacked
from ..io.job_folder import JobFolder, unfinished_folder
from ..io.provenance import Identity, Origin, join_runs
from ..io.signature_file import SignatureFile, pack_labels, read_signatures, write_signatures
from ..recipe import Recipe
from ..signatures import Signatures


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
    files = _in_order(folder)
    n_parts = _before_gap(files)
    if n_parts < len(files) and not unfinished_folder(folder).is_dir():
        raise FileError(f"{path}: {part_name(n_parts)} is missing; copy the folder again.")
    if not n_parts:
        raise FileError(f"{path}: holds no {part_name(0)}; give a file or a shard folder.")
    return files[:n_parts]


def _in_order(folder: Path) -> list[Path]:
    """All parts by their numbers, which have more than five digits where parts are many."""
    parts = folder.glob("part-*.safetensors")
    return sorted(parts, key=lambda path: (len(path.name), path.name))


def _before_gap(files: Sequence[Path]) -> int:
    """How many parts there are up to the first that is missing."""
    names = (path.name == part_name(number) for number, path in enumerate(files))
    return next((number for number, fits in enumerate(names) if not fits), len(files))


def require_room(target: Path, append: bool) -> None:
    """Refuse a target that is no folder, holds shards already, or holds something else."""
    if not target.parent.is_dir():
        raise FileError(f"{target}: the folder {target.parent} does not exist; make it first.")
    if target.exists() and not target.is_dir():
        raise FileError(f"{target}: is a file; name a new folder for the shards.")
    if is_shard_folder(target) and not append:
        raise FileError(
            f"{target}: holds shards already; remove it, name another folder, or append to it."
        )
    if target.is_dir() and {*target.iterdir()} - {*_in_order(target)}:
        raise FileError(f"{target}: holds other files; name a new folder for the shards.")


def take_back(folder: JobFolder, target: Path, first: int) -> None:
    """Return shards from `first` on, which a killed run has appended, to the folder of its job."""
    for path in reversed(_in_order(target)):
        if int(path.stem.partition("-")[2]) >= first:
            path.replace(folder.file(path.name))


def hand_over(folder: JobFolder, target: Path, paths: Sequence[Path]) -> None:
    """Make the parts of a job shards of the target, and end the job."""
    if not is_shard_folder(target):
        folder.hand_over(target)
        return
    with naming_target(target):
        for path in reversed(paths):
            path.replace(target / path.name)
    folder.discard()


def write_part(
    target: Target, recipe: Recipe, signatures: Sequence[Signatures], labels: Any,
    origins: Iterable[Origin], **options: bool,
) -> None:  # fmt: skip
    """Write signatures, one below the other, as one file; options of `write_signatures`."""
    arrays = {name: Stacked.of([S.arrays()[name] for S in signatures]) for name in recipe.arrays}
    n_rows = sum(map(len, signatures))
    packed, classes = (None, None) if labels is None else pack_labels(labels, n_rows)
    write_signatures(target, recipe, arrays, packed, classes, origins, **options)


def merge_parts(paths: Sequence[Path], target: Target, name: PathLike) -> None:
    """Put signature files of one recipe together, without reading them into memory.

    `name` is what errors call the target.
    """
    parts: list[_Part] = []
    origins: list[Origin] = []
    recipe: Recipe | None = None
    for path in paths:
        contents = read_signatures(path)
        recipe = recipe or contents.recipe
        if contents.recipe != recipe:
            raise RecipeMismatch(recipe, contents.recipe)
        parts.append(_Part.of(path, contents))
        origins += contents.provenance
    assert recipe is not None
    n_rows = sum(part.n_rows for part in parts)
    stacked = {
        array: Stacked(dtype, (n_rows, *shape), partial(_arrays_of, parts, array))
        for array, (dtype, shape) in recipe.arrays.items()
    }
    labels, classes = _stack_labels(parts, name)
    write_signatures(target, recipe, stacked, labels, classes, join_runs(origins))


class _Part(NamedTuple):
    """What is kept of a part while many are merged: no array of it."""

    path: Path
    n_rows: int
    label_type: np.dtype[Any] | None
    classes: list[Any] | None
    identity: Identity

    @classmethod
    def of(cls, path: Path, contents: SignatureFile) -> "_Part":
        labels = contents.labels()
        label_type = None if labels is None else labels.dtype
        return cls(path, len(contents), label_type, contents.classes, contents.identity)

    def contents(self) -> SignatureFile:
        """The part, which must still be the same file."""
        return read_signatures(self.path, identity=self.identity)


def _arrays_of(parts: Sequence[_Part], name: str) -> Iterator[Array]:
    """An array of one part after the other."""
    return (part.contents().arrays[name] for part in parts)


def _stack_labels(
    parts: Sequence[_Part], name: PathLike
) -> tuple[Stacked | None, list[Any] | None]:
    """Labels of all parts as numbers, and the classes these number if labels are no numbers."""
    types = [part.label_type for part in parts if part.label_type is not None]
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

    return Stacked(dtype, (sum(part.n_rows for part in parts),), numbers), classes
