"""Models as files: planes in safetensors, the rest as JSON."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FileError, ParameterError
from ..io.containers import read_container, save_arrays
from ..io.provenance import Origin, read_provenance
from ..recipe import Recipe
from .planes import Planes

Array = npt.NDArray[Any]

CLASSIFIER = "classifier"
REGRESSOR = "regressor"

_FILE_VERSION = 1


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds.

    Attributes
    ----------
    parameters : dict
        Arguments of the model's constructor.
    planes : Planes
    classes : ndarray, or None for a regressor
    n_rows : int
        Rows learned from.
    feature_names : ndarray of str, or None
    provenance : iterable of io.Origin, or None
        Where the rows came from, if that is known.
    """

    parameters: dict[str, Any]
    planes: Planes
    classes: Array | None
    n_rows: int
    feature_names: Array | None
    provenance: Iterable[Origin] | None


def write_model(path: str | os.PathLike[str], model: SavedModel) -> None:
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
        about["class_type"] = _name_of(model.classes.dtype)
    if model.provenance is not None:
        about["sources"] = [origin.asdict() for origin in model.provenance]
    arrays: dict[str, Array] = {
        "planes": model.planes.stacked(),
        "intercepts": np.ascontiguousarray(model.planes.intercepts),
    }
    kind = REGRESSOR if model.classes is None else CLASSIFIER
    save_arrays(path, kind, _FILE_VERSION, arrays, about)


def read_model(path: str | os.PathLike[str], *kinds: str) -> SavedModel:
    """A model of one of these kinds from a file, after checks that its parts fit together."""
    container = read_container(path, kinds, _FILE_VERSION)
    arrays, about = container.arrays, container.about
    try:
        recipe = Recipe.fromdict(about["recipe"])
        parameters = dict(about["parameters"])
        if isinstance(parameters.get("class_weight"), list):
            parameters["class_weight"] = dict(map(tuple, parameters["class_weight"]))
        classes, n_planes = None, 1
        if container.kind == CLASSIFIER:
            classes = np.array(about["classes"], dtype=np.dtype(about["class_type"]))
            n_planes = 1 if len(classes) == 2 else len(classes)
        planes, intercepts = arrays["planes"], np.array(arrays["intercepts"])
        names, n_rows = about["feature_names"], int(about["n_rows"])
        shape = (n_planes, 1 << recipe.n_bits, recipe.n_hashes)  # type: ignore[operator]
        if (
            planes.shape != shape
            or planes.dtype != np.float32
            or intercepts.shape != (n_planes,)
            or intercepts.dtype != np.float64
            or (classes is not None and len(classes) < 2)
        ):
            raise ValueError("its arrays do not fit its recipe and classes")
        if not (np.isfinite(planes).all() and np.isfinite(intercepts).all()):
            raise ValueError("it holds values that are not finite")
        return SavedModel(
            parameters,
            Planes.unstacked(recipe, planes, intercepts),
            classes,
            n_rows,
            None if names is None else np.array(names, dtype=object),
            read_provenance(about.get("sources")),
        )
    except (ParameterError, KeyError, TypeError, ValueError) as error:
        raise damaged(path, error) from error


def damaged(path: str | os.PathLike[str], error: Exception) -> FileError:
    """The error of a model file that makes no sense."""
    return FileError(f"{path}: damaged or unknown ({error}); save the model again.")


def _name_of(dtype: np.dtype[Any]) -> str:
    return "object" if dtype.kind == "O" else dtype.str


def _plain(value: Any) -> Any:
    """What JSON can hold of a parameter or label."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str | list):
        return value
    raise ParameterError(
        f"{value!r}: of type {type(value).__name__}, which a file cannot hold; "
        "use numbers or strings."
    )
