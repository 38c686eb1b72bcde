"""Classifiers as files: planes in safetensors, the rest as JSON."""

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import FileError, ParameterError
from ..io.containers import load_arrays, save_arrays
from ..io.provenance import Origin, read_provenance
from ..recipe import Recipe
from .classifier import HashedLinearClassifier
from .planes import Planes

Array = npt.NDArray[Any]
Model = TypeVar("Model")

_FILE_VERSION = 1
_KIND = "classifier"


def write_model(
    path: str | os.PathLike[str],
    model: Any,
    linear: HashedLinearClassifier,
    provenance: Iterable[Origin] | None = None,
) -> None:
    """Write a fitted classifier, and where its rows came from if that is known."""
    parameters = model.get_params(deep=False)
    parameters["random_state"] = model.recipe_.seed
    if isinstance(parameters["class_weight"], dict):
        pairs = [[_plain(label), float(w)] for label, w in parameters["class_weight"].items()]
        parameters["class_weight"] = pairs
    names = getattr(model, "feature_names_in_", None)
    about = {
        "recipe": model.recipe_.asdict(),
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "classes": [_plain(label) for label in model.classes_],
        "class_type": "object" if model.classes_.dtype == object else model.classes_.dtype.str,
        "n_rows": linear._rows,
        "feature_names": None if names is None else [str(name) for name in names],
    }
    if provenance is not None:
        about["sources"] = [origin.asdict() for origin in provenance]
    arrays: dict[str, Array] = {
        "planes": linear._planes.stacked(),
        "intercepts": np.ascontiguousarray(linear._planes.intercepts),
    }
    save_arrays(path, _KIND, _FILE_VERSION, arrays, about)


def read_model(path: str | os.PathLike[str], cls: type[Model]) -> Model:
    """A classifier from a file, after checks that its parts fit together."""
    arrays, about = load_arrays(path, _KIND, _FILE_VERSION)
    try:
        recipe = Recipe.fromdict(about["recipe"])
        parameters = dict(about["parameters"])
        if isinstance(parameters["class_weight"], list):
            parameters["class_weight"] = dict(map(tuple, parameters["class_weight"]))
        model: Any = cls(**parameters)
        classes = np.array(about["classes"], dtype=np.dtype(about["class_type"]))
        planes, intercepts = arrays["planes"], np.array(arrays["intercepts"])
        names, n_rows = about["feature_names"], int(about["n_rows"])
        n_planes = 1 if len(classes) == 2 else len(classes)
        shape = (n_planes, 1 << recipe.n_bits, recipe.n_hashes)  # type: ignore[operator]
        if (
            planes.shape != shape
            or planes.dtype != np.float32
            or intercepts.shape != (n_planes,)
            or intercepts.dtype != np.float64
            or len(classes) < 2
        ):
            raise ValueError("its arrays do not fit its recipe and classes")
        if not (np.isfinite(planes).all() and np.isfinite(intercepts).all()):
            raise ValueError("it holds values that are not finite")
    except (ParameterError, KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: damaged or unknown ({error}); save the model again.") from error
    model.provenance_ = read_provenance(about.get("sources"))
    model.recipe_ = recipe
    model.n_features_in_ = recipe.n_columns
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    linear = HashedLinearClassifier(**model._linear_parameters(), random_state=recipe.seed)
    model.linear_ = linear._take(classes, Planes.unstacked(recipe, planes, intercepts), n_rows)
    return model  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    """What JSON can hold of a parameter or label."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str | list):
        return value
    raise ParameterError(
        f"{value!r}: of type {type(value).__name__}, which a file cannot hold; "
        "use numbers or strings."
    )
