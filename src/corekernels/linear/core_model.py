"""What CoREClassifier and CoRERegressor share: rows are hashed, a linear model learns the rest."""

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from .._core.arguments import seed_of
from .._core.estimator import parameters_for_file
from .._core.types import Array, PathLike
from ..errors import RecipeMismatch
from ..hasher import HashingEstimator
from ..io.fields import checking
from ..io.provenance import Origin
from ..recipe import Recipe
from ..signatures import Signatures, sketch
from .model import OF_A_FIT, HashedLinearModel
from .model_file import REMEDY, SavedModel, read_model, write_model
from .packed import require_signatures

_OF_LINEAR = ("classes_", "multilabel_", *OF_A_FIT)  # attributes that are those of the linear model


class CoREModel(HashingEstimator):
    """An estimator that hashes rows and gives their signatures to a linear model."""

    linear_: Any  # of the type below
    n_iter_: int
    dual_gap_: Any
    provenance_: list[Origin]

    _linear_type: ClassVar[type[HashedLinearModel]]
    _file_kind: ClassVar[str]

    def __init__(
        self, kernel: str = Recipe.kernel, n_hashes: int = Recipe.n_hashes, *,
        n_bits: int | None = Recipe.n_bits, C: float = 1.0, scheme: str = Recipe.scheme,
        gamma: float | None = None,
        weight_bits: int = Recipe.weight_bits, tol: float = 1e-5, max_iter: int = 1000,
        solver: str = "auto", random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            kernel, n_hashes, n_bits=n_bits, scheme=scheme, gamma=gamma,
            weight_bits=weight_bits, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver

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
        found: Array = self.linear_.predict(S)
        return found

    def save(self, path: PathLike, *, provenance: Iterable[Origin] | None = None) -> None:
        """Write the model to a safetensors file, whole or not at all.

        The file holds numbers and a JSON description, no code: it is safe to load one from
        somebody else. `partial_fit` goes on from the average of the stream so far. `provenance`
        may say where the rows came from.
        """
        check_is_fitted(self)
        saved = SavedModel(
            parameters_for_file(self, self.recipe_.seed, self.recipe_.gamma),
            self.linear_._planes,
            getattr(self, "classes_", None),
            self.linear_.n_rows_,
            getattr(self, "feature_names_in_", None),
            provenance,
            getattr(self, "multilabel_", False),
        )
        write_model(path, saved)

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
    def _restored(cls, path: PathLike, saved: SavedModel) -> Self:
        """The model that the file at `path` holds."""
        with checking(path, REMEDY):
            model = cls(**saved.parameters)
            model.recipe_ = saved.planes.recipe
            linear = model._new_linear()
        linear._keep(saved.planes, saved.n_rows)
        if saved.classes is not None:
            linear.classes_, linear.multilabel_ = saved.classes, saved.multilabel
        if saved.feature_names is not None:
            model.feature_names_in_ = saved.feature_names
        return model._adopt(model.recipe_, linear, saved.provenance or ())

    def _adopt(self, recipe: Recipe, linear: Any, provenance: Iterable[Origin] = ()) -> Self:
        """Take over what a linear model has learned from signatures of a recipe."""
        self.recipe_, self.linear_ = recipe, linear
        self.n_features_in_ = recipe.n_columns
        self.provenance_ = list(provenance)
        for name in _OF_LINEAR:
            self.__dict__.pop(name, None)
            if hasattr(linear, name):
                setattr(self, name, getattr(linear, name))
        return self

    def _linear_parameters(self) -> dict[str, Any]:
        """Parameters of this model that the linear model has as well, but for the seed."""
        names = set(self._linear_type._get_param_names()) - {"random_state"}
        own = self.get_params(deep=False)
        return {name: value for name, value in own.items() if name in names}

    def _new_linear(self) -> Any:
        return self._linear_type(**self._linear_parameters(), random_state=self.recipe_.seed)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "linear_")
