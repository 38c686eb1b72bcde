"""HashedLinearClassifier: signatures and labels in, labels out."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import require_choice, require_count, require_positive, seed_of
from .._core.threads import thread_count
from .._loops.learning.planes import move_towards
from ..errors import DataError, ParameterError
from ..signatures import Signatures
from .descent import Outcome, State
from .labels import check_class_weight, check_classes, check_labels, check_weights, encode_labels
from .one_vs_rest import Lesson, as_planes, learn, make_lesson
from .planes import Planes, lane_blocks, new_planes, pack

Array = npt.NDArray[Any]

LOSS_NAMES = ("squared_hinge", "hinge", "log_loss")
_STREAM_SWEEPS = 10
_STREAM_TOL = 1e-3
_STREAM_POWER = 3


@dataclass
class _Stream:
    """What `partial_fit` carries from batch to batch: the planes now, and their average."""

    states: list[State]
    average: Planes
    rows: int
    total: float

    def take(self, now: Planes, n_rows: int) -> None:
        """Move the average towards the planes after another batch."""
        self.rows += n_rows
        weight = float(n_rows) * float(self.rows) ** _STREAM_POWER
        self.total += weight
        share = weight / self.total
        for goal, block in zip(now.blocks, self.average.blocks, strict=True):
            move_towards(goal, np.float32(share), block)
        self.average.intercepts[:] += share * (now.intercepts - self.average.intercepts)


def _begun(lesson: Lesson, S: Signatures) -> _Stream:
    sizes = [len(lanes) for lanes in lane_blocks(lesson.n_planes)]
    k, n_codes = S.recipe.n_hashes, lesson.packed.n_codes
    planes = [new_planes(n_codes, k, size) for size in sizes]
    return _continued(Planes(S.recipe, planes, np.zeros(lesson.n_planes)), 0, 1.0)


def _continued(planes: Planes, n_rows: int, intercept: float) -> _Stream:
    """A stream that begins where some rows have led to."""
    states = []
    for lanes, block in zip(lane_blocks(len(planes.intercepts)), planes.blocks, strict=True):
        biases = planes.intercepts[lanes.start : lanes.stop] / (intercept or 1.0)
        states.append(State(np.zeros((0, len(lanes))), block.copy(), biases))
    average = Planes(planes.recipe, planes.blocks, planes.intercepts.copy())
    return _Stream(states, average, n_rows, float(n_rows) ** (_STREAM_POWER + 1))


def has_probabilities(model: Any) -> bool:
    """Whether scores are log odds."""
    return bool(model.loss == "log_loss")


class HashedLinearClassifier(ClassifierMixin, BaseEstimator):
    """Linear SVM or logistic regression on signatures, without expanding them.

    For two classes it finds the plane that minimises

        1/2 (|w|^2 + b^2) + C sum_i c_i loss(y_i (w . x_i + s b)),

    where x_i is row i of `Signatures.to_csr()`, c_i its weight and s the
    `intercept_scaling`; for more classes, one such plane for each class against all
    others. This is LIBLINEAR's problem and, up to `tol`, its solution; the method too is
    LIBLINEAR's, dual coordinate descent, but on the packed codes: eight classes at a
    time, three bytes a slot. What is learned depends on the rows, the parameters and
    the seed, not on the order of the rows nor on the number of threads.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "log_loss"}
        The last one makes a logistic regression, with `predict_proba`. For probabilities
        from the others, calibrate: `CalibratedClassifierCV` takes a `CoREClassifier`.
    C : float
        Weight of the losses against the length of w: small means smooth.
    tol : float
        Largest duality gap, as a share of the objective. The objective is then within
        that share of the optimum. Planes are in single precision: below about 1e-6
        rounding takes over.
    max_iter : int
        Largest number of sweeps over the rows.
    fit_intercept : bool
    intercept_scaling : float
        Value of the constant column that carries the intercept; the larger, the less
        the intercept is regularised.
    class_weight : dict, "balanced" or None
        Factors of C by class. With more than two classes the factor of a class counts
        in its own problem, as in LIBLINEAR.
    random_state : int, RandomState instance or None
        Order in which rows are visited.
    n_jobs : int, optional
        Threads; None means all cores. Classes are shared out in blocks of eight, so
        that up to eight classes are one thread's work. Never changes the result.

    Attributes
    ----------
    classes_ : ndarray
    intercept_ : ndarray of shape (1,) or (n_classes,)
    coef_ : ndarray, float32
        Expanded on request, in the order of the columns of `Signatures.to_csr`.
    n_iter_ : int
        Sweeps the slowest class took.
    dual_gap_ : ndarray of shape (1,) or (n_classes,)
        Duality gap over objective, by class. Not there after `partial_fit`.

    Notes
    -----
    `fit` needs, beside the signatures, 4 n_hashes 2^n_bits bytes for a plane (eight planes
    a block) and 8 bytes a row and class. Signatures may be memory-mapped.

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

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        C: float = 1.0,
        tol: float = 1e-5,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    _stream: _Stream | None = None

    def fit(self, S: Signatures, y: Any, sample_weight: Any = None) -> "HashedLinearClassifier":
        """Learn from signatures S with labels y, and weights of the rows if given."""
        loss, C, intercept = check_problem(self)
        options = check_options(self)
        classes, lesson = read_lesson(self, S, y, sample_weight)
        blocks = lesson.blocks(loss, C, intercept)
        states, outcomes = learn(lesson, blocks, None, self.n_jobs, **options)
        warn_unless_converged(outcomes, options)
        self._stream = None
        planes = as_planes(S.recipe, states, intercept)
        return self._take(classes, planes, len(S), outcomes)

    def partial_fit(
        self, S: Signatures, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "HashedLinearClassifier":
        """Learn from one batch of a stream, then forget its rows.

        Each batch is solved against the plane that all batches before have led to, in
        up to 10 sweeps; the model is the average of these planes, later ones weighing
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
        loss, C, intercept = check_problem(self)
        options = check_options(self)
        packed = pack(S, self.n_jobs)
        known = self._known_classes(classes)
        weights = check_weights(sample_weight, len(S))
        numbers = encode_labels(check_labels(y, len(S)), known)
        class_weights = check_class_weight(self.class_weight, known, numbers, weights)
        rows, digests = np.arange(len(S)), packed.digests(self.n_jobs)
        lesson = make_lesson(packed, numbers, weights, class_weights, rows, digests)
        stream = self._stream
        if stream is None and hasattr(self, "_planes"):
            stream = _continued(self._planes, self._rows, intercept)
        elif stream is None:
            stream = _begun(lesson, S)
        stream.average.require(S)
        batch = [
            State(np.zeros((len(S), len(state.biases))), state.planes, state.biases)
            for state in stream.states
        ]
        options = {
            "tol": max(_STREAM_TOL, options["tol"]),
            "max_iter": min(_STREAM_SWEEPS, options["max_iter"]),
            "seed": [options["seed"], stream.rows],
        }
        learn(lesson, lesson.blocks(loss, C, intercept), batch, self.n_jobs, **options)
        stream.take(as_planes(S.recipe, batch, intercept), len(S))
        self._stream = stream
        return self._take(known, replace(stream.average), stream.rows)  # scored as it now is

    def decision_function(self, S: Signatures) -> npt.NDArray[np.float64]:
        """Scores: (n,) for two classes, positive for the second; else (n, n_classes)."""
        check_is_fitted(self)
        scores = self._planes.scores(S, self.n_jobs)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, S: Signatures) -> Array:
        """The most likely label of each row."""
        scores = self.decision_function(S)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: Array = self.classes_[best]
        return labels

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, S: Signatures) -> npt.NDArray[np.float64]:
        """Probability of each class: the log loss only. Several classes' are scaled to sum to 1."""
        scores = self.decision_function(S)
        positive = expit(scores)
        if scores.ndim == 1:
            return np.column_stack([1 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1 / positive.shape[1])
        shares: npt.NDArray[np.float64] = np.divide(positive, total, out=even, where=total > 0)
        return shares

    @property
    def coef_(self) -> npt.NDArray[np.float32]:
        """The planes in the order of the columns of `Signatures.to_csr`, expanded on request."""
        check_is_fitted(self)
        return self._planes.coefficients()

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """What is added to each plane's scores."""
        check_is_fitted(self)
        return self._planes.intercepts

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_planes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # Signatures
        tags.no_validation = True
        return tags

    def _known_classes(self, classes: Any) -> Array:
        """The classes of a stream: named in its first call, and the same ever after."""
        if isinstance(self.class_weight, str):
            raise ParameterError(
                'class_weight: "balanced" needs all rows at once; give a dict of weights.'
            )
        if not hasattr(self, "_planes"):
            if classes is None:
                raise ParameterError("classes: None in the first call; name all classes there.")
            return check_classes(classes)
        if classes is not None and not np.array_equal(check_classes(classes), self.classes_):
            raise ParameterError(
                f"classes: not those of the first call ({', '.join(map(str, self.classes_))}); "
                "leave them out, or begin anew with a clone."
            )
        return self.classes_

    def _take(
        self, classes: Array, planes: Planes, n_rows: int, outcomes: list[Outcome] | None = None
    ) -> "HashedLinearClassifier":
        self.classes_ = classes
        self._planes = planes
        self._rows = n_rows
        if outcomes is not None:
            self.n_iter_ = max(outcome.n_iter for outcome in outcomes)
            self.dual_gap_ = np.concatenate([outcome.relative_gaps for outcome in outcomes])
        return self


def check_problem(model: Any) -> tuple[str, float, float]:
    """The loss, C, and the value of the constant column (0: no intercept)."""
    scaling = require_positive("intercept_scaling", model.intercept_scaling)
    return (
        require_choice("loss", model.loss, LOSS_NAMES),
        require_positive("C", model.C),
        scaling if model.fit_intercept else 0.0,
    )


def check_options(model: Any) -> dict[str, Any]:
    """Arguments of the descent."""
    thread_count(model.n_jobs)
    return {
        "tol": require_positive("tol", model.tol),
        "max_iter": require_count("max_iter", model.max_iter),
        "seed": seed_of(model.random_state),
    }


def read_lesson(model: Any, S: Signatures, y: Any, sample_weight: Any) -> tuple[Array, Lesson]:
    """The classes, and the rows to learn from."""
    packed = pack(S, model.n_jobs)
    weights = check_weights(sample_weight, len(S))
    labels = check_labels(y, len(S))
    classes = np.unique(labels)
    numbers = encode_labels(labels, classes)
    present = np.unique(numbers[weights > 0])
    if len(present) < 2:
        only = ", ".join(str(classes[number]) for number in present)
        raise DataError(
            f"y: holds one class only ({only}) among the rows with a weight; "
            "give rows of at least two classes."
        )
    class_weights = check_class_weight(model.class_weight, classes, numbers, weights)
    rows, digests = np.arange(len(S)), packed.digests(model.n_jobs)
    return classes, make_lesson(packed, numbers, weights, class_weights, rows, digests)


def warn_unless_converged(outcomes: list[Outcome], options: dict[str, Any]) -> None:
    """Say what to change where a gap is still too large."""
    if all(outcome.converged for outcome in outcomes):
        return
    worst = max(outcome.relative_gaps.max() for outcome in outcomes)
    goal, asked = "tol", f"tol={options['tol']:.1e}"
    if "plane_tol" in options:
        goal, asked = (
            "path_tol",
            f"{asked} and for path_tol={options['plane_tol']:.1e} of |w|^2 / 2",
        )
    warnings.warn(
        f"After max_iter={options['max_iter']} sweeps the duality gap is {worst:.1e} of the "
        f"objective, too much for {asked}: raise max_iter or {goal}, or lower C.",
        ConvergenceWarning,
        stacklevel=3,
    )
