"""HashedLinearClassifier: signatures and labels in, labels out."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import Array, require_positive
from .._core.estimator import keep_parameters, require_some_rows
from ..errors import DataError, ParameterError
from ..signatures import Signatures
from .labels import (
    check_class_weight,
    check_classes,
    check_labels,
    check_weights,
    encode_labels,
)
from .losses import Loss, loss_of
from .model import HashedLinearModel, OfProbabilities
from .problem import OneVsRest
from .rows import TrainingSet, pack
from .stream import Stream


class HashedLinearClassifier(ClassifierMixin, HashedLinearModel):
    """Linear SVM or logistic regression on signatures, without expanding them.

    For two classes it finds the weight vector w and the bias b that minimise

        1/2 (w . w + b^2) + C sum_i c_i loss(y_i (w . x_i + s b)),

    where x_i is row i of `Signatures.to_csr()`, c_i its weight and s the
    `intercept_scaling`; for more classes, one such vector for each class against all
    others. This is LIBLINEAR's problem and, up to `tol`, its solution; the methods too are
    LIBLINEAR's, dual coordinate descent and truncated Newton, but on the packed codes:
    eight classes at a time, three bytes per slot. Within `tol`, what is learned depends
    neither on the order of the rows nor on the solver nor on the number of threads.

    Rows may have several labels: then y has a column of 0 and 1 for each label, and there is
    one weight vector per label.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "log_loss"} or Loss
        The log loss makes a logistic regression, with `predict_proba`. For probabilities
        from the others, calibrate: `CalibratedClassifierCV` takes a `CoREClassifier`.
    C : float
        Weight of the losses against the length of w: small means smooth.
    tol : float
        Largest duality gap, as a share of the objective. The objective is then within
        that share of the optimum. The gap is summed in double precision; coefficients are in
        single precision, so that below about 1e-6, and at large C, it stops falling.
    max_iter : int
        Largest number of passes over the rows.
    fit_intercept : bool
    intercept_scaling : float
        Value of the constant column that carries the intercept; the larger, the less
        the intercept is regularised.
    class_weight : dict, "balanced" or None
        Factors of C by class. With more than two classes the factor of a class counts
        in its own problem, as in LIBLINEAR.
    solver : {"auto", "descent", "newton"}
        "descent" visits one row after another, eight classes at a time, so that up to
        eight classes are one thread's work; to the last bit, its result depends neither
        on the number of threads nor on the order of the rows. "newton" shares every
        pass over the rows among all threads, and does not mind equal rows with different
        labels; it is not for the hinge loss, and its result does not depend on the
        number of threads. "auto" takes what is fastest with the threads there are: with
        many threads, "newton" for two classes, or a descent of fewer classes at a time.
    random_state : int, RandomState instance or None
        Order in which a descent visits rows.
    n_jobs : int, optional
        Threads; None means all cores.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted; if rows have several, the numbers of the columns of y.
    multilabel_ : bool
        Whether rows may have several labels.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    coef_ : ndarray, float32
        Expanded on request, in the order of the columns of `Signatures.to_csr`.
    n_iter_ : int
        Passes over the rows that the slowest class took. Not there after `partial_fit`.
    dual_gap_ : ndarray of shape (1,) or (n_classes,)
        Duality gap over objective, by class. Not there after `partial_fit`.
    n_rows_ : int
        Rows learned from, those of all batches of a stream together.

    Notes
    -----
    `fit` needs, beside the signatures, 4 n_hashes 2^n_bits bytes per weight vector (eight per
    block) and 8 bytes per row and class. Newton steps solve one class after another, with
    six vectors, 20 bytes per row, and sums of 256 MB or one vector, if that is more.
    Signatures may be memory-mapped.

    Input is Signatures, not arrays, so scikit-learn's generic checks that fit arrays do
    not apply; `CoREClassifier` takes arrays and goes through all of them.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> S = ck.CoREHasher(n_hashes=512, random_state=0).fit(X).sketch(X)
    >>> model = ck.linear.HashedLinearClassifier(random_state=0).fit(S[:1000], y[:1000])
    >>> round(model.score(S[1000:], y[1000:]), 2)
    0.94
    """

    multilabel_: bool = False
    _stream: Stream | None = None

    def __init__(
        self, loss: str | Loss = "squared_hinge", *, C: float = 1.0, tol: float = 1e-5,
        max_iter: int = 1000, fit_intercept: bool = True, intercept_scaling: float = 1.0,
        class_weight: Any = None, solver: str = "auto", random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        keep_parameters(locals())

    def fit(self, S: Signatures, y: Any, sample_weight: Any = None) -> "HashedLinearClassifier":
        """Learn from signatures S with labels y, and weights of the rows if given."""
        C, options = require_positive("C", self.C), self._options()
        classes, problem, training = self._read(S, y, sample_weight)
        self.dual_gap_ = self._learn(
            training, lambda width: problem.blocks(training, C, width), S.recipe, options
        )
        self.classes_, self._stream = classes, None
        self.multilabel_ = problem.label_sets is not None
        return self

    def partial_fit(
        self, S: Signatures, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "HashedLinearClassifier":
        """Learn from one batch of a stream, then forget its rows.

        Each batch is solved from the weight vectors that all batches before have led to, in
        up to 10 sweeps; the model is the average of these vectors, later ones weighing
        more. One pass over the training rows in five or ten batches ends near the solution
        of `fit` on all of them: on digits, within a point of accuracy if the rows are in
        random order, within about three if batches differ in kind. A row given twice counts
        as two rows. After `fit`, a stream goes on from there.

        Parameters
        ----------
        S : Signatures
        y : array-like
            Labels; a batch may lack some classes.
        classes : array-like
            All classes there will be: needed in the first call.
        sample_weight : array-like, optional
        """
        if isinstance(self.class_weight, str):
            raise ParameterError(
                'class_weight: "balanced" needs all rows at once; give a dict of weights.'
            )
        if self.multilabel_:
            raise DataError("y: several labels per row are learned by `fit` only; use that.")
        classes = check_classes(classes, getattr(self, "classes_", None))
        C, options = require_positive("C", self.C), self._options()
        _, problem, training = self._read(S, y, sample_weight, classes)
        stream = self._stream
        if stream is None and hasattr(self, "_coefficients"):
            stream = Stream.resume(self._coefficients, self.n_rows_, problem.intercept)
        elif stream is None:
            stream = Stream.start(S.recipe, training.packed, problem.n_problems)
        stream.average.require_recipe(S)
        stream.learn(training.packed, problem.blocks(training, C), options, self.n_jobs)
        self._stream, self.classes_ = stream, classes
        self._keep(replace(stream.average), stream.n_rows)  # a new object: scores anew
        return self

    def decision_function(self, S: Signatures) -> npt.NDArray[np.float64]:
        """Scores: (n,) for two classes, positive for the second; else (n, n_classes)."""
        check_is_fitted(self)
        scores = self._coefficients.scores(S, self.n_jobs)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, S: Signatures) -> Array:
        """The most likely label of each row; if rows have several, a column of 0 and 1 for each."""
        scores = self.decision_function(S)
        if self.multilabel_:
            return (scores > 0).astype(int)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    @OfProbabilities
    def predict_proba(self, S: Signatures) -> npt.NDArray[np.float64]:
        """Probability of each class: the log loss only. Several classes' are scaled to sum to 1.

        Where rows have several labels, each has a probability of its own.
        """
        scores = self.decision_function(S)
        positive: npt.NDArray[np.float64] = expit(scores)
        if self.multilabel_:
            return positive
        if scores.ndim == 1:
            return np.column_stack([1 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1 / positive.shape[1])
        return np.divide(positive, total, out=even, where=total > 0)

    @OfProbabilities
    def predict_log_proba(self, S: Signatures) -> npt.NDArray[np.float64]:
        """Logarithm of the probability of each class: finite where the probability rounds to 0."""
        scores = self.decision_function(S)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        logs: npt.NDArray[np.float64] = log_expit(scores)
        if self.multilabel_:
            return logs
        return logs - logsumexp(logs, axis=1, keepdims=True)

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """What is added to the scores of each class."""
        check_is_fitted(self)
        return self._coefficients.intercepts

    def _read(
        self, S: Signatures, y: Any, sample_weight: Any, classes: Array | None = None
    ) -> tuple[Array, OneVsRest, TrainingSet]:
        """The classes (those in y if None are given), the problem and the training set."""
        loss = loss_of(self.loss, "classes")
        scaling = require_positive("intercept_scaling", self.intercept_scaling)
        packed = pack(S, self.n_jobs)
        require_some_rows(len(S))
        weights = check_weights(sample_weight, len(S))
        targets, label_sets = check_labels(y, len(S), several=classes is None), None
        if targets.ndim == 2:
            label_sets, numbers = np.unique(targets, axis=0, return_inverse=True)
            numbers, classes = numbers.ravel(), np.arange(targets.shape[1])
            class_weights = check_class_weight(self.class_weight, classes)
        elif classes is not None:  # a batch, which may lack some classes
            numbers = encode_labels(targets, classes)
            class_weights = check_class_weight(self.class_weight, classes, numbers, weights)
        else:
            classes, numbers = np.unique(targets, return_inverse=True)
            present = np.unique(numbers[weights > 0])
            if len(present) < 2:
                only = ", ".join(str(label) for label in classes[present])
                raise DataError(
                    f"y: holds one class only ({only}) among the rows with a weight; "
                    "give rows of at least two classes."
                )
            class_weights = check_class_weight(self.class_weight, classes, numbers, weights)
        training = TrainingSet.of(packed, numbers, weights, self.n_jobs)
        return (
            classes,
            OneVsRest(loss, scaling * bool(self.fit_intercept), class_weights, label_sets),
            training,
        )
