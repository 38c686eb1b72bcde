"""What CoREClassifier and CoRERegressor share: rows are hashed, a linear model learns the rest."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import Array, PathLike, parameters_for_file, seed_of
from .._core.threads import thread_count
from ..errors import ParameterError, RecipeMismatch
from ..hasher import HashingEstimator
from ..io.containers import MAX_HEADER_BYTES, Container, read_container, save_arrays
from ..io.provenance import (
    Origin,
    checking,
    column_names,
    provenance_entries,
    read_provenance,
    require_fit,
    whole_number,
)
from ..recipe import Recipe
from ..signatures import Signatures, sketch
from .coefficients import Coefficients
from .model import OF_A_FIT, HashedLinearModel
from .problem import number_of_problems
from .rows import require_signatures

CLASSIFIER = "classifier"
REGRESSOR = "regressor"

REMEDY = "save the model again"  # if a file is damaged

_FILE_VERSION = 1
_LONG_LABEL = 1000  # characters


def read_model(path: PathLike, *kinds: str) -> Container:
    """The contents of a file of one of these kinds."""
    return read_container(path, kinds, _FILE_VERSION)


def _coefficients(recipe: Recipe, n_problems: int, arrays: Mapping[str, Array]) -> Coefficients:
    """What was learned by a recipe, from the arrays of a file."""
    coef, intercepts = arrays["planes"], np.array(arrays["intercepts"])
    require_fit(recipe.n_bits is not None, "its recipe keeps no bits")
    shape = (n_problems, 1 << recipe.n_bits, recipe.n_hashes)  # type: ignore[operator]
    fits = coef.shape == shape and intercepts.shape == (n_problems,)
    fits = fits and coef.dtype == np.float32 and intercepts.dtype == np.float64
    require_fit(fits, "its arrays do not fit its recipe and classes")
    finite = bool(np.isfinite(coef).all() and np.isfinite(intercepts).all())
    require_fit(finite, "it holds values that are not finite")
    return Coefficients.from_stack(recipe, coef, intercepts)


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
    """A parameter or label as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str | list):
        return value
    raise ParameterError(
        f"{value!r}: of type {type(value).__name__}, which a file cannot hold; "
        "use numbers or strings."
    )


_OF_LINEAR = ("classes_", "multilabel_", *OF_A_FIT)  # attributes that are those of the linear model


class CoREModel(HashingEstimator):
    """An estimator that hashes rows and gives their signatures to a linear model."""

    linear_: Any  # of the type below
    n_iter_: int
    dual_gap_: Any
    provenance_: list[Origin]

    _linear_type: ClassVar[type[HashedLinearModel]]
    _file_kind: ClassVar[str]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Hash the rows of X once and learn their targets y, with weights if given."""
        matrix = self._hashing_matrix(X)
        S = sketch(matrix, self.recipe_, self.n_jobs)
        return self._adopt(self.recipe_, self._new_linear().fit(S, y, sample_weight))

    def fit_signatures(self, S: Signatures, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows hashed before, by the recipe that this model's parameters make.

        Examples
        --------
        >>> import corekernels as ck
        >>> X, y = [[1.0, 0], [0, 1]], ["left", "right"]
        >>> S = ck.CoREHasher(n_hashes=16, random_state=0).fit(X).sketch(X)
        >>> model = ck.CoREClassifier(n_hashes=16, random_state=0).fit_signatures(S, y)
        >>> str(model.predict([[0, 2.0]])[0])
        'right'
        """
        require_signatures(S)
        recipe = self._recipe(S.recipe.n_columns, seed_of(self.random_state))
        if recipe != S.recipe:
            raise RecipeMismatch(recipe, S.recipe)
        self.recipe_ = recipe
        return self._adopt(recipe, self._new_linear().fit(S, y, sample_weight))

    def predict(self, X: Any) -> Array:
        """The label or value of each row."""
        S = self.sketch(X)
        return self.linear_.predict(S)

    def save(self, path: PathLike, *, provenance: Iterable[Origin] | None = None) -> None:
        """Write the model to a safetensors file, whole or not at all.

        The file holds numbers and a JSON description, no code: it is safe to load one from
        somebody else. `partial_fit` goes on from the average of the stream so far. `provenance`
        may say where the rows came from.
        """
        check_is_fitted(self)
        parameters = parameters_for_file(self, self.recipe_.seed, self.recipe_.gamma)
        if not isinstance(parameters["loss"], str):
            raise ParameterError(
                f"loss: a file cannot hold {parameters['loss']!r}, only the names of losses; "
                "pickle the model."
            )
        if isinstance(parameters.get("class_weight"), dict):
            items = parameters["class_weight"].items()
            parameters["class_weight"] = [[_plain(label), float(w)] for label, w in items]
        names = getattr(self, "feature_names_in_", None)
        about = {
            "recipe": self.recipe_.asdict(),
            "parameters": {name: _plain(value) for name, value in parameters.items()},
            "n_rows": self.linear_.n_rows_,
            "feature_names": None if names is None else [str(name) for name in names],
        }
        classes = getattr(self, "classes_", None)
        if classes is not None:
            about["classes"] = [_plain(label) for label in classes]
            about["class_type"] = "object" if classes.dtype.kind == "O" else classes.dtype.str
            about["multilabel"] = self.linear_.multilabel_
        if provenance is not None:
            about["sources"] = provenance_entries(provenance)
        learned = self.linear_._coefficients
        intercepts = np.ascontiguousarray(learned.intercepts)
        arrays = {"planes": learned.stack(), "intercepts": intercepts}
        save_arrays(path, self._file_kind, _FILE_VERSION, arrays, about)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """A model from a file that `save` wrote.

        Examples
        --------
        >>> import corekernels as ck
        >>> model = ck.CoREClassifier(n_hashes=16, random_state=0)
        >>> model = model.fit([[1.0, 0], [0, 1]], ["left", "right"])
        >>> model.save("model.safetensors")
        >>> again = ck.CoREClassifier.load("model.safetensors")
        >>> str(again.predict([[0, 2.0]])[0])
        'right'
        """
        return cls._restored(path, read_model(path, cls._file_kind))

    @classmethod
    def _restored(cls, path: PathLike, container: Container) -> Self:
        """The model that the file at `path` holds, whose parts have to fit together."""
        with checking(path, REMEDY):
            about = container.about
            recipe, parameters = Recipe.fromdict(about["recipe"]), dict(about["parameters"])
            if isinstance(parameters.get("class_weight"), list):
                parameters["class_weight"] = dict(map(tuple, parameters["class_weight"]))
            thread_count(parameters.get("n_jobs"))
            model = cls(**parameters)
            model.recipe_ = recipe
            linear, n_problems = model._new_linear(), 1
            if container.kind == CLASSIFIER:
                linear.classes_ = _classes(about["classes"], about["class_type"])
                linear.multilabel_ = about["multilabel"]
                require_fit(
                    isinstance(linear.multilabel_, bool),
                    "it does not say whether rows have several labels",
                )
                n_problems = number_of_problems(len(linear.classes_), linear.multilabel_)
            n_rows = whole_number(about["n_rows"], 0, 2**63 - 1, "the number of rows")
            linear._keep(_coefficients(recipe, n_problems, container.arrays), n_rows)
            feature_names = column_names(about["feature_names"], recipe.n_columns)
            if feature_names is not None:
                model.feature_names_in_ = feature_names
            return model._adopt(recipe, linear, read_provenance(about.get("sources")) or ())

    def _adopt(self, recipe: Recipe, linear: Any, provenance: Iterable[Origin] = ()) -> Self:
        """Become fitted: with a linear model learned from signatures of a recipe."""
        self.recipe_, self.linear_ = recipe, linear
        self.n_features_in_ = recipe.n_columns
        self.provenance_ = list(provenance)
        for name in _OF_LINEAR:
            self.__dict__.pop(name, None)
            if hasattr(linear, name):
                setattr(self, name, getattr(linear, name))
        return self

    def _new_linear(self) -> Any:
        """A linear model, not fitted, with those of this model's parameters that it has as well."""
        parameters = self.get_params(deep=False) | {"random_state": self.recipe_.seed}
        names = self._linear_type._get_param_names()
        return self._linear_type(**{name: parameters[name] for name in names if name in parameters})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "linear_")
