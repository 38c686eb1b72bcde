"""CoREClassifier: raw rows in, labels out."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ._core.arguments import seed_of
from ._core.validation import as_matrix
from .errors import DataError, RecipeMismatch
from .io.provenance import Origin
from .linear.classifier import HashedLinearClassifier, has_probabilities
from .linear.model_file import read_model, write_model
from .recipe import Recipe
from .signatures import Signatures, sketch

Array = npt.NDArray[Any]


class CoREClassifier(ClassifierMixin, BaseEstimator):
    """Kernel accuracy at linear cost: rows are hashed once, a linear model learns the rest.

    The hash turns each row into `n_hashes` pairs of a code and a weight whose inner
    products estimate a CoRE kernel (`CoREHasher`); the linear model learns from the pairs
    as they are (`linear.HashedLinearClassifier`). More hashes come closer to the kernel
    machine, at a cost that stays linear in the number of rows.

    Parameters
    ----------
    kernel : {"core1", "core2", "resemblance"}
        Which kernel to come close to.
    n_hashes : int
        Hashes a row.
    n_bits : int from 1 to 16
        Bits kept of each hash.
    loss : {"squared_hinge", "hinge", "log_loss"}
        The last one makes `predict_proba` available; for the others there is
        scikit-learn's `CalibratedClassifierCV`.
    C : float
        Weight of the losses against the smoothness of the solution.
    scheme : {"circulant", "independent", "one-permutation"}
    projection : {"gaussian", "rademacher"}
        As in `CoREHasher`.
    class_weight : dict, "balanced" or None
        Factors of C by class.
    tol, max_iter : float, int
        When to stop: `HashedLinearClassifier` says what they mean.
    random_state : int, RandomState instance or None
        Seed of the hash and of the order in which rows are visited.
    n_jobs : int, optional
        Threads; None means all cores. Never changes the result.

    Attributes
    ----------
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had names
    recipe_ : Recipe
        How rows are hashed.
    linear_ : HashedLinearClassifier
        What was learned from the signatures.
    n_iter_ : int
        Sweeps over the rows; not there after `partial_fit`.
    provenance_ : list of io.Origin
        Where the rows came from, as far as the file the model was loaded from says.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ck.CoREClassifier(n_hashes=1024, random_state=0).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    0.95
    """

    def __init__(
        self,
        kernel: str = "core1",
        n_hashes: int = 1024,
        *,
        n_bits: int = 8,
        loss: str = "squared_hinge",
        C: float = 1.0,
        scheme: str = "circulant",
        projection: str = "gaussian",
        class_weight: Any = None,
        tol: float = 1e-5,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_hashes = n_hashes
        self.n_bits = n_bits
        self.loss = loss
        self.C = C
        self.scheme = scheme
        self.projection = projection
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "CoREClassifier":
        """Hash the rows of X once and learn their labels y, with weights if given."""
        matrix = self._begin(X)
        linear = self._new_linear()
        self.linear_ = linear.fit(sketch(matrix, self.recipe_, self.n_jobs), y, sample_weight)
        self.n_iter_ = linear.n_iter_
        return self

    def fit_signatures(self, S: Signatures, y: Any, sample_weight: Any = None) -> "CoREClassifier":
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
        recipe = self._recipe(S.recipe.n_columns, seed_of(self.random_state))
        if recipe != S.recipe:
            raise RecipeMismatch(recipe, S.recipe)
        self.recipe_ = recipe
        return self._adopt(recipe, self._new_linear().fit(S, y, sample_weight))

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "CoREClassifier":
        """Learn from one batch of a stream; all classes are named in the first call.

        `HashedLinearClassifier.partial_fit` says how close a stream comes to `fit`.
        """
        if not hasattr(self, "linear_"):
            matrix = self._begin(X)
            linear = self._new_linear()
        else:
            linear = self.linear_.set_params(**self._linear_parameters())
            matrix = self._checked(X)
            wanted = self._recipe(matrix.shape[1], self.recipe_.seed)
            if wanted != self.recipe_:
                raise RecipeMismatch(self.recipe_, wanted)
        S = sketch(matrix, self.recipe_, self.n_jobs)
        self.linear_ = linear.partial_fit(S, y, classes, sample_weight)
        return self

    def sketch(self, X: Any) -> Signatures:
        """Signatures of the rows of X, hashed as the rows learned from."""
        check_is_fitted(self)
        return sketch(self._checked(X), self.recipe_, self.n_jobs)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores: (n,) for two classes, positive for the second; else (n, n_classes)."""
        S = self.sketch(X)
        return self.linear_.decision_function(S)

    def predict(self, X: Any) -> Array:
        """The most likely label of each row."""
        S = self.sketch(X)
        return self.linear_.predict(S)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class; with the log loss only."""
        S = self.sketch(X)
        probabilities: npt.NDArray[np.float64] = self.linear_.predict_proba(S)
        return probabilities

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        if not hasattr(self, "linear_"):
            raise AttributeError("classes_: the model is not fitted yet")
        return self.linear_.classes_

    def save(
        self, path: str | os.PathLike[str], *, provenance: Iterable[Origin] | None = None
    ) -> None:
        """Write the model to a safetensors file, whole or not at all.

        The file holds numbers and a JSON description, no code: it is safe to load one from
        somebody else. `partial_fit` goes on from the average of the stream so far. `provenance`
        may say where the rows came from.
        """
        check_is_fitted(self)
        write_model(path, self, self.linear_, provenance)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "CoREClassifier":
        """A model from a file that `save` wrote.

        Examples
        --------
        >>> import corekernels as ck, os, tempfile
        >>> model = ck.CoREClassifier(n_hashes=16, random_state=0)
        >>> model = model.fit([[1.0, 0], [0, 1]], ["left", "right"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "model.safetensors"))
        ...     again = ck.CoREClassifier.load(os.path.join(folder, "model.safetensors"))
        >>> str(again.predict([[0, 2.0]])[0])
        'right'
        """
        return read_model(path, cls)

    def _begin(self, X: Any) -> Any:
        """The matrix behind X, once its columns and the recipe are noted."""
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        if matrix.shape[0] == 0:
            raise DataError("X: Found array with 0 sample(s) while a minimum of 1 is required.")
        self.recipe_ = self._recipe(matrix.shape[1], seed_of(self.random_state))
        return matrix

    def _recipe(self, n_columns: int, seed: int) -> Recipe:
        return Recipe(
            kernel=self.kernel,
            n_hashes=self.n_hashes,
            n_bits=self.n_bits,
            scheme=self.scheme,
            projection=self.projection,
            seed=seed,
            n_columns=n_columns,
        )

    def _adopt(self, recipe: Recipe, linear: HashedLinearClassifier) -> "CoREClassifier":
        """Take over what was learned from signatures."""
        self.recipe_, self.linear_ = recipe, linear
        self.n_features_in_, self.n_iter_ = recipe.n_columns, linear.n_iter_
        return self

    def _checked(self, X: Any) -> Any:
        matrix = as_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return matrix

    def _linear_parameters(self) -> dict[str, Any]:
        names = ("loss", "C", "tol", "max_iter", "class_weight", "n_jobs")
        return {name: getattr(self, name) for name in names}

    def _new_linear(self) -> HashedLinearClassifier:
        parameters = self._linear_parameters()
        return HashedLinearClassifier(**parameters, random_state=self.recipe_.seed)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "linear_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
