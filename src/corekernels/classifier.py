"""CoREClassifier: raw rows in, labels out."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from ._core.arguments import Array
from ._core.estimator import keep_parameters
from .errors import RecipeMismatch
from .linear.classifier import HashedLinearClassifier
from .linear.core_model import CLASSIFIER, CoREModel
from .linear.losses import Loss
from .linear.model import OfProbabilities
from .recipe import Recipe
from .signatures import sketch


class CoREClassifier(ClassifierMixin, CoREModel):
    """Kernel accuracy at linear cost: rows are hashed once, a linear model learns the rest.

    The hash turns each row into `n_hashes` pairs of a code and a weight whose inner
    products estimate a CoRE kernel (`CoREHasher`); the linear model learns from the pairs
    as they are (`linear.HashedLinearClassifier`). More hashes come closer to the kernel
    machine, at a cost that stays linear in the number of rows.

    Rows may have several labels: y then has a column of 0 and 1 for each, as `predict` gives them.
    The rows are hashed once for all labels.

    Parameters
    ----------
    kernel : str
        Which kernel to come close to, as in `CoREHasher`.
    n_hashes : int
        Hashes per row.
    n_bits : int from 1 to 16
        Bits kept of each hash.
    loss : {"squared_hinge", "hinge", "log_loss"} or linear.Loss
        The log loss makes `predict_proba` available; for the others there is
        scikit-learn's `CalibratedClassifierCV`.
    C : float
        Weight of the losses against the smoothness of the solution.
    scheme : {"circulant", "independent"}
    gamma : float, optional
    weight_bits : {16, 8, 4}
        As in `CoREHasher`.
    class_weight : dict, "balanced" or None
        Factors of C by class.
    tol, max_iter : float, int
        When to stop: `HashedLinearClassifier` says what they mean.
    solver : {"auto", "descent", "newton"}
        How to learn: `HashedLinearClassifier` says when which is fast.
    random_state : int, RandomState instance or None
        Seed of the hash and of the order in which a descent visits rows.
    n_jobs : int, optional
        Threads; None means all cores.

    Attributes
    ----------
    classes_, multilabel_, n_iter_, dual_gap_
        As in `HashedLinearClassifier`; the last two are not there after `partial_fit` or `load`.
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had names
    recipe_ : Recipe
        How rows are hashed.
    linear_ : HashedLinearClassifier
        What was learned from the signatures.
    provenance_ : list of io.Origin
        Where the rows came from, as far as the file the model was loaded from says.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ck.CoREClassifier(n_hashes=1024, random_state=0).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    0.94

    Only core_rbf has a `gamma`, so a search over kernels takes a list of grids, one per kernel:

    >>> from sklearn.model_selection import GridSearchCV
    >>> grids = [
    ...     {"kernel": ["core1", "core2"], "C": [0.1, 1]},
    ...     {"kernel": ["core_rbf"], "gamma": [1, 4], "C": [0.1, 1]},
    ... ]
    >>> model = ck.CoREClassifier(n_hashes=64, random_state=0)
    >>> search = GridSearchCV(model, grids, cv=3).fit(X[:300], y[:300])
    >>> len(search.cv_results_["params"])
    8
    """

    linear_: HashedLinearClassifier
    classes_: Array
    multilabel_: bool

    _linear_type = HashedLinearClassifier
    _file_kind = CLASSIFIER

    def __init__(
        self, kernel: str = Recipe.kernel, n_hashes: int = Recipe.n_hashes, *,
        n_bits: int | None = Recipe.n_bits, loss: str | Loss = "squared_hinge", C: float = 1.0,
        scheme: str = Recipe.scheme,
        gamma: float | None = None, weight_bits: int = Recipe.weight_bits,
        class_weight: Any = None, tol: float = 1e-5, max_iter: int = 1000, solver: str = "auto",
        random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        keep_parameters(locals())

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "CoREClassifier":
        """Learn from one batch of a stream; all classes are named in the first call.

        `HashedLinearClassifier.partial_fit` says how close a stream comes to `fit`.
        """
        if not hasattr(self, "linear_"):
            matrix = self._hashing_matrix(X)
            linear, provenance = self._new_linear(), []
        else:
            linear = self.linear_.set_params(**self._new_linear().get_params(deep=False))
            provenance = self.provenance_
            matrix = self._fitted_matrix(X)
            recipe = self._recipe(matrix.shape[1], self.recipe_.seed)
            if recipe != self.recipe_:
                raise RecipeMismatch(self.recipe_, recipe)
        S = sketch(matrix, self.recipe_, self.n_jobs)
        linear.partial_fit(S, y, classes, sample_weight)
        return self._adopt(self.recipe_, linear, provenance)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores: (n,) for two classes, positive for the second; else (n, n_classes)."""
        S = self.sketch(X)
        return self.linear_.decision_function(S)

    @OfProbabilities
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class; with the log loss only."""
        S = self.sketch(X)
        return self.linear_.predict_proba(S)

    @OfProbabilities
    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Logarithm of the probability of each class; with the log loss only."""
        S = self.sketch(X)
        return self.linear_.predict_log_proba(S)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
