"""Models as files: planes in safetensors, the rest as JSON."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.threads import thread_count
from .._core.types import Array, PathLike
from ..errors import ParameterError
from ..io.container_header import MAX_HEADER_BYTES
from ..io.containers import Container, read_container, save_arrays
from ..io.fields import checking, column_names, require_fit, whole_number
from ..io.provenance import Origin, provenance_entries, read_provenance
from ..recipe import Recipe
from .planes import Planes, number_of_planes

CLASSIFIER = "classifier"
REGRESSOR = "regressor"

REMEDY = "save the model again"  # if a file is damaged

_FILE_VERSION = 1
_LONG_LABEL = 1000  # characters


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds."""

    parameters: dict[str, Any]  # of the model's constructor
    planes: Planes
    classes: Array | None  # None for a regressor
    n_rows: int  # learned from
    feature_names: Array | None
    provenance: Iterable[Origin] | None  # where the rows came from, if that is known
    multilabel: bool = False  # whether rows may have several labels


def write_model(path: PathLike, model: SavedModel) -> None:
    """Write a model, whole or not at all."""
    parameters = dict(model.parameters)
    if isinstance(parameters.get("class_weight"), dict):
        pairs = [[_plain(label), float(w)] for label, w in parameters["class_weight"].items()]
        parameters["class_weight"] = pairs
    names = model.feature_names
    about = {
        "recipe": model.planes.recipe.asdict(),
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "n_rows": model.n_rows,
        "feature_names": None if names is None else [str(name) for name in names],
    }
    if model.classes is not None:
        about["classes"] = [_plain(label) for label in model.classes]
        dtype = model.classes.dtype
        about["class_type"] = "object" if dtype.kind == "O" else dtype.str
        about["multilabel"] = model.multilabel
    if model.provenance is not None:
        about["sources"] = provenance_entries(model.provenance)
    arrays: dict[str, Array] = {
        "planes": model.planes.stacked(),
        "intercepts": np.ascontiguousarray(model.planes.intercepts),
    }
    kind = REGRESSOR if model.classes is None else CLASSIFIER
    save_arrays(path, kind, _FILE_VERSION, arrays, about)


def read_model(path: PathLike, *kinds: str) -> SavedModel:
    """A model of one of these kinds from a file, after checks that its parts fit together."""
    container = read_container(path, kinds, _FILE_VERSION)
    with checking(path, REMEDY):
        return _checked(container)


def _checked(container: Container) -> SavedModel:
    """What a file holds, if its parts fit together."""
    arrays, about = container.arrays, container.about
    recipe = Recipe.fromdict(about["recipe"])
    parameters = dict(about["parameters"])
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(map(tuple, parameters["class_weight"]))
    thread_count(parameters.get("n_jobs"))
    classes, n_planes, multilabel = None, 1, False
    if container.kind == CLASSIFIER:
        classes = _classes(about["classes"], about["class_type"])
        multilabel = about["multilabel"]
        require_fit(
            isinstance(multilabel, bool), "it does not say whether rows have several labels"
        )
        n_planes = number_of_planes(len(classes), multilabel)
    planes, intercepts = arrays["planes"], np.array(arrays["intercepts"])
    require_fit(recipe.n_bits is not None, "its recipe keeps no bits")
    shape = (n_planes, 1 << recipe.n_bits, recipe.n_hashes)  # type: ignore[operator]
    fits = planes.shape == shape and intercepts.shape == (n_planes,)
    fits = fits and planes.dtype == np.float32 and intercepts.dtype == np.float64
    require_fit(fits, "its arrays do not fit its recipe and classes")
    finite = bool(np.isfinite(planes).all() and np.isfinite(intercepts).all())
    require_fit(finite, "it holds values that are not finite")
    return SavedModel(
        parameters,
        Planes.unstacked(recipe, planes, intercepts),
        classes,
        whole_number(about["n_rows"], 0, 2**63 - 1, "the number of rows"),
        column_names(about["feature_names"], recipe.n_columns),
        read_provenance(about.get("sources")),
        multilabel,
    )


def _classes(labels: Any, class_type: Any) -> Array:
    """The classes, in order, of the type that they had when the model was saved."""
    require_fit(isinstance(labels, list) and len(labels) >= 2, "it has no two classes")
    plain = all(isinstance(label, bool | int | float | str) for label in labels)
    require_fit(plain and isinstance(class_type, str), "its classes are damaged")
    dtype = np.dtype(class_type)
    require_fit(dtype.kind in "biufUO", "its classes are of no known type")
    if dtype.kind == "U":  # wider than its labels, perhaps, but not by gigabytes
        texts = all(isinstance(label, str) for label in labels)
        longest = max(len(label) for label in labels) if texts else 0
        fits = texts and dtype.itemsize // 4 <= max(longest, _LONG_LABEL)
        fits = fits and dtype.itemsize * len(labels) <= MAX_HEADER_BYTES
        require_fit(fits, "its classes do not fit their type")
    classes = np.array(labels, dtype=dtype)
    in_order = classes.tolist() == labels and bool((classes[:-1] < classes[1:]).all())
    require_fit(in_order, "its classes are out of order")
    return classes


def _plain(value: Any) -> Any:
    """What JSON can hold of a parameter or label."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str | list):
        return value
    raise ParameterError(
        f"{value!r}: of type {type(value).__name__}, which a file cannot hold; "
        "use numbers or strings."
    )
