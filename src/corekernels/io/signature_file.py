"""Signature files: the arrays of hashed rows, their labels, and where they came from.

A file holds no date: equal rows, hashed alike, give equal bytes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, PathLike
from ..recipe import Recipe
from .atomic import Target
from .containers import Container, read_container, save_arrays
from .provenance import (
    Identity,
    Origin,
    checking,
    provenance_entries,
    read_provenance,
    require_fit,
)
from .readers import plain_labels

_KIND = "signatures"
_VERSION = 1
_LABELS = "labels"
_LONG_LABEL = 1000  # characters; NumPy gives every label the room of the longest
_MOST_LABEL_BYTES = 1 << 28  # of labels that are longer


@dataclass(frozen=True)
class SignatureFile:
    """What a signature file holds; arrays are those of `Recipe.arrays`, checked to fit.

    Labels are the numbers that stand in the file: of `classes` if there are some, else the
    labels themselves. `identity` tells whether it is still the same file when it is opened again.
    """

    path: PathLike
    recipe: Recipe
    arrays: dict[str, Array]
    label_numbers: Array | None
    classes: list[Any] | None
    provenance: list[Origin]
    identity: Identity

    def __len__(self) -> int:
        return len(self.arrays["lengths"])

    def labels(self) -> Array | None:
        """The labels, or None if there are none."""
        if self.label_numbers is None or self.classes is None:
            return self.label_numbers
        return np.array(self.classes)[self.label_numbers]


def write_signatures(
    path: Target,
    recipe: Recipe,
    arrays: Mapping[str, Any],
    labels: Any = None,
    classes: list[Any] | None = None,
    provenance: Iterable[Origin] | None = None,
    *,
    durable: bool = True,
    shared: bool = False,
) -> None:
    """Write arrays of signatures, with what `pack_labels` made of their labels."""
    about: dict[str, Any] = {"recipe": recipe.asdict()}
    if labels is not None:
        arrays = {**arrays, _LABELS: labels}
    if classes is not None:
        about["classes"] = classes
    if provenance is not None:
        about["sources"] = provenance_entries(provenance)
    save_arrays(path, _KIND, _VERSION, arrays, about, durable=durable, shared=shared)


def read_signatures(
    path: PathLike, *, mmap: bool = True, identity: Identity | None = None
) -> SignatureFile:
    """What a file holds, after checks that its parts fit together.

    With an `identity`, the file must be the one that was read before.
    """
    container = read_container(path, (_KIND,), _VERSION, mmap=mmap, identity=identity)
    with checking(path, "make it again"):
        return _checked(path, container)


def _checked(path: PathLike, container: Container) -> SignatureFile:
    """What a file holds, if its parts fit together.

    Codes and weights, which are most of the file, are looked at when they become `Signatures`: a
    file of many gigabytes opens at once.
    """
    arrays, about = container.arrays, container.about
    recipe = Recipe.fromdict(about["recipe"])
    n_rows = len(arrays.get("lengths", ()))
    for name, (dtype, shape) in recipe.sketch.arrays.items():
        array = arrays.get(name)
        fits = array is not None and array.dtype == dtype and array.shape == (n_rows, *shape)
        require_fit(fits, f"array {name!r} does not fit its recipe")
    lengths, labels, classes = arrays["lengths"], arrays.get(_LABELS), about.get("classes")
    fits = n_rows == 0 or (lengths.min() >= 0 and lengths.max() <= recipe.n_columns)
    require_fit(fits, "array 'lengths' is out of range")
    if "sums" in arrays:
        require_fit(bool(np.isfinite(arrays["sums"]).all()), "array 'sums' is not finite")
    _require_labels(labels, classes, n_rows)
    return SignatureFile(
        path,
        recipe,
        {name: arrays[name] for name in recipe.sketch.arrays},
        labels,
        None if labels is None else classes,
        read_provenance(about.get("sources")),
        container.identity,
    )


def _require_labels(labels: Array | None, classes: Any, n_rows: int) -> None:
    if labels is None:
        return
    require_fit(labels.shape == (n_rows,), "its labels do not fit its rows")
    if classes is None:
        fits = labels.dtype.kind != "f" or bool(np.isfinite(labels).all())
        require_fit(fits and labels.dtype != np.float16, "its labels are no finite numbers")
        return
    kinds = {type(name) for name in classes} if isinstance(classes, list) else {None}
    require_fit(kinds in ({str}, {bool}, set()), "its classes are damaged")
    fits = len(set(classes)) == len(classes) and labels.dtype.kind == "i"
    fits = fits and (n_rows == 0 or 0 <= labels.min() <= labels.max() < len(classes))
    require_fit(fits, "its labels do not fit its classes")
    if kinds == {str}:
        longest = max(map(len, classes))
        fits = longest <= _LONG_LABEL or 4 * longest * n_rows <= _MOST_LABEL_BYTES
        require_fit(fits, f"labels of {longest:,} characters take too much memory")


def pack_labels(y: Any, n_rows: int) -> tuple[Array, list[Any] | None]:
    """Labels as numbers a file can hold, and the classes these number if labels are no numbers."""
    labels = plain_labels(y, n_rows)
    if labels.dtype.kind in "bU":
        classes, numbers = np.unique(labels, return_inverse=True)
        return numbers.astype(np.int32), classes.tolist()
    kind = np.dtype(np.float32) if labels.dtype == np.float16 else labels.dtype
    return labels.astype(kind.newbyteorder("="), copy=False), None
