"""Several signature files, one below the other, as one file, without reading them into memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import Array
from ..errors import DataError, RecipeMismatch
from ..io.atomic import move_file
from ..io.npy import Computed, Span, Spans
from ..io.provenance import Identity, Origin, join_runs
from ..io.signature_file import SignatureFile, read_signatures, write_signatures
from ..recipe import Recipe


def merge_parts(paths: Sequence[Path], target: Path) -> None:
    """Put signature files of one recipe together into `target`, whole or not at all."""
    parts: list[_Part] = []
    recipe: Recipe | None = None
    provenance: list[Origin] = []
    for path in paths:
        found = read_signatures(path)
        recipe = recipe or found.recipe
        if found.recipe != recipe:
            raise RecipeMismatch(recipe, found.recipe)
        parts.append(_Part.of(found))
        provenance.extend(found.provenance)
    assert recipe is not None
    if len(paths) == 1:
        if paths[0] != target:
            move_file(paths[0], target)
        return
    n_rows = sum(part.n_rows for part in parts)
    stacked = {
        name: Spans(dtype, (n_rows, *shape), [part.spans[name] for part in parts])
        for name, (dtype, shape) in recipe.arrays.items()
    }
    numbers, classes = _stack_labels(paths, parts, target)
    write_signatures(target, recipe, stacked, numbers, classes, join_runs(provenance))


@dataclass(frozen=True)
class _Part:
    """How many rows a part has, where they lie, and what their labels are."""

    n_rows: int
    label_type: np.dtype[Any] | None
    classes: list[Any] | None
    spans: dict[str, Span]
    identity: Identity

    @classmethod
    def of(cls, found: SignatureFile) -> "_Part":
        labels = found.labels()
        label_type = None if labels is None else labels.dtype
        return cls(len(found), label_type, found.classes, found.spans, found.identity)


def _stack_labels(
    paths: Sequence[Path], parts: Sequence[_Part], target: Path
) -> tuple[Computed | None, list[Any] | None]:
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

    def numbers() -> Iterator[Array]:
        for path, part in zip(paths, parts, strict=True):
            labels = read_signatures(path, identity=part.identity).labels()
            assert labels is not None
            yield (labels if classes is None else np.searchsorted(known, labels)).astype(dtype)

    return Computed(dtype, (sum(part.n_rows for part in parts),), numbers), classes
