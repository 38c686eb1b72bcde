"""The losses of linear models, each an object, and the table of those that have a name.

A linear model minimises |w|^2 / 2 + sum_i loss(score_i), where score_i = w . x_i + intercept. At
the optimum w is the sum of the rows times their dual variables, and that of row i is the negative
slope of its loss. For any scores and dual variables

    loss(score_i) + conjugate(dual_i) + dual_i score_i >= 0,

with equality where the dual variable belongs to the score. The sum over the rows is the duality
gap, by which every solver stops. A dual variable here has the sign of its row's share in w: for
classes it is LIBLINEAR's alpha times the target.
"""

from collections import namedtuple
from dataclasses import dataclass, fields
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from .._loops.learning.losses import unkept
from ..errors import ParameterError

_METHODS = {
    "newton": ("value", "slope", "curvature"),
    "descent": ("value", "conjugate", "best_dual"),
    "shrinking": ("dual_bounds", "dual_slope"),
}


@dataclass_transform(frozen_default=True)
class Loss:
    """A loss: a subclass states its parameters as a dataclass does, these attributes and methods.

    Methods are compiled into the loops of the solvers. They may compute with their arguments, with
    the parameters (`self.delta`), which are floats, with NumPy's functions of numbers, and call
    functions that `numba.njit` has compiled, but not one another. `target` is -1 or 1, or the
    value to predict; `cost`, which is positive, multiplies the loss.

    "newton" needs `value`, `slope` and `curvature`; "descent" needs `value`, `conjugate` and
    `best_dual`, and if the loss shrinks, `dual_bounds` and `dual_slope`.

    Attributes
    ----------
    label : str
        Name for people.
    predicts : {"classes", "values"}
        What the targets are.
    solvers : tuple
        The solvers that can be used, "descent" or "newton". On one thread "auto" prefers the first.
    newton_cost : float
        Processor time of Newton steps over that of a descent, by which "auto" chooses for more
        threads. 3, if not stated.
    has_probabilities : bool
        Whether scores are log odds. False, if not stated.
    shrinks : bool
        Whether many dual variables end at their bounds, so that sweeps of a descent may skip their
        rows. False, if not stated.
    gap_excess : float
        How many times too large the duality gap is that a sweep adds up on its way. 1, if not
        stated; more if `conjugate` is not strongly convex.
    quadratic_conjugate : bool
        Whether `conjugate` is a quadratic function of the dual variable, on an unbounded domain:
        a path over C is then extrapolated, with arrays as arguments of it. False, if not stated.

    Examples
    --------
    >>> import numpy as np
    >>> import corekernels as ck
    >>> class LogCosh(ck.linear.Loss):
    ...     label = "log cosh loss"
    ...     predicts = "values"
    ...     solvers = ("newton",)
    ...
    ...     def value(self, score, target, cost):
    ...         return cost * np.log(np.cosh(score - target))
    ...
    ...     def slope(self, score, target, cost):
    ...         return cost * np.tanh(score - target)
    ...
    ...     def curvature(self, score, target, cost):
    ...         return cost / np.cosh(score - target) ** 2
    >>> rows, values = [[1.0, 0], [0, 1]], [3.0, 5.0]
    >>> model = ck.CoRERegressor(n_hashes=64, loss=LogCosh(), C=100, random_state=0)
    >>> model.fit(rows, values).predict(rows).round(1)
    array([3., 5.])
    """

    label: ClassVar[str]
    predicts: ClassVar[str]
    solvers: ClassVar[tuple[str, ...]]
    newton_cost: ClassVar[float] = 3.0
    has_probabilities: ClassVar[bool] = False
    shrinks: ClassVar[bool] = False
    gap_excess: ClassVar[float] = 1.0
    quadratic_conjugate: ClassVar[bool] = False
    InLoops: ClassVar[type[Any]]

    def __init_subclass__(cls) -> None:
        needed = {name for solver in cls.solvers for name in _METHODS[solver]}
        needed |= set(_METHODS["shrinking"] if cls.shrinks else ())
        if missing := sorted(name for name in needed if getattr(cls, name) is getattr(Loss, name)):
            raise TypeError(f"{cls.__name__}: a loss of its kind needs {', '.join(missing)}.")
        dataclass(frozen=True)(cls)
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        about = {
            "of": cls, "__slots__": (), "__module__": cls.__module__,
            "__qualname__": f"{cls.__qualname__}.InLoops",
        }  # fmt: skip
        cls.InLoops = type(cls.__name__, (namedtuple(cls.__name__, names),), about)

    @property
    def is_smooth(self) -> bool:
        """Whether it has a second derivative, for Newton steps."""
        return "newton" in self.solvers

    def in_loops(self) -> Any:
        """The loss as loops take it: a named tuple of its parameters."""
        return self.InLoops(*(float(getattr(self, name)) for name in self.InLoops._fields))

    def compiled(self, loop: Any) -> Any:
        """A loop as it is to be called with this loss."""
        is_named = any(type(self) is type(named) for named in LOSSES.values())
        return loop if is_named else unkept(loop)

    def value(self, score: float, target: float, cost: float) -> float:
        """Loss of a row."""
        raise NotImplementedError

    def slope(self, score: float, target: float, cost: float) -> float:
        """Derivative of the loss in the score."""
        raise NotImplementedError

    def curvature(self, score: float, target: float, cost: float) -> float:
        """Second derivative of the loss in the score."""
        raise NotImplementedError

    def conjugate(self, dual: float, target: float, cost: float) -> float:
        """Convex conjugate of the loss at minus the dual variable."""
        raise NotImplementedError

    def best_dual(
        self, score: float, target: float, cost: float, dual: float, square: float
    ) -> float:
        """The dual variable d that is best while all others stay.

        It minimises conjugate(d) + score (d - dual) + square (d - dual)^2 / 2, where `square` is
        the squared length of the row: 0 for an empty row without intercept.
        """
        raise NotImplementedError

    def dual_bounds(self, target: float, cost: float) -> tuple[float, float]:
        """Least and largest dual variable; asked of losses that shrink."""
        return -np.inf, np.inf

    def dual_slope(self, score: float, target: float, cost: float, dual: float) -> float:
        """Derivative of `conjugate` in the dual variable, plus the score: of losses that shrink."""
        return np.nan


class SquaredHinge(Loss):
    """cost max(0, 1 - target score)^2: LIBLINEAR's default, a support vector machine."""

    label = "squared hinge loss"
    predicts = "classes"
    solvers = ("descent", "newton")
    shrinks = True
    quadratic_conjugate = True

    def value(self, score: float, target: float, cost: float) -> float:
        short = max(0.0, 1.0 - target * score)
        return cost * short * short

    def slope(self, score: float, target: float, cost: float) -> float:
        return -2.0 * cost * max(0.0, 1.0 - target * score) * target

    def curvature(self, score: float, target: float, cost: float) -> float:
        return 2.0 * cost if target * score < 1.0 else 0.0

    def conjugate(self, dual: float, target: float, cost: float) -> float:
        return dual * (dual / (4.0 * cost)) - dual * target

    def dual_bounds(self, target: float, cost: float) -> tuple[float, float]:
        return (0.0, np.inf) if target > 0 else (-np.inf, 0.0)

    def dual_slope(self, score: float, target: float, cost: float, dual: float) -> float:
        return score - target + dual / (2.0 * cost)

    def best_dual(
        self, score: float, target: float, cost: float, dual: float, square: float
    ) -> float:
        best = dual - (score - target + dual / (2.0 * cost)) / (square + 0.5 / cost)
        return max(best, 0.0) if target > 0 else min(best, 0.0)


class Hinge(Loss):
    """cost max(0, 1 - target score): the support vector machine of the textbooks."""

    label = "hinge loss"
    predicts = "classes"
    solvers = ("descent",)
    shrinks = True
    gap_excess = 10.0

    def value(self, score: float, target: float, cost: float) -> float:
        return cost * max(0.0, 1.0 - target * score)

    def conjugate(self, dual: float, target: float, cost: float) -> float:
        return -dual * target

    def dual_bounds(self, target: float, cost: float) -> tuple[float, float]:
        return (0.0, cost) if target > 0 else (-cost, 0.0)

    def dual_slope(self, score: float, target: float, cost: float, dual: float) -> float:
        return score - target

    def best_dual(
        self, score: float, target: float, cost: float, dual: float, square: float
    ) -> float:
        slope = score - target
        if square > 0.0:
            best = target * (dual - slope / square)
        else:
            best = cost if target * slope < 0.0 else 0.0
        return target * min(max(best, 0.0), cost)


class LogLoss(Loss):
    """cost log(1 + exp(-target score)): logistic regression."""

    label = "log loss"
    predicts = "classes"
    solvers = ("descent", "newton")
    newton_cost = 5.0
    has_probabilities = True

    def value(self, score: float, target: float, cost: float) -> float:
        margin = target * score
        return cost * (np.log1p(np.exp(-abs(margin))) + max(0.0, -margin))

    def slope(self, score: float, target: float, cost: float) -> float:
        return -target * cost / (1.0 + np.exp(target * score))

    def curvature(self, score: float, target: float, cost: float) -> float:
        share = 1.0 / (1.0 + np.exp(abs(score)))
        return cost * share * (1.0 - share)

    def conjugate(self, dual: float, target: float, cost: float) -> float:
        a = target * dual
        rest = cost - a
        entropy = a * np.log(a / cost) if a > 0 else 0.0
        return entropy + (rest * np.log1p(-a / cost) if rest > 0 else 0.0)

    def dual_bounds(self, target: float, cost: float) -> tuple[float, float]:
        return (0.0, cost) if target > 0 else (-cost, 0.0)

    def best_dual(
        self, score: float, target: float, cost: float, dual: float, square: float
    ) -> float:
        """With a = target dual: the root b of square (b - a) + margin + log(b / (cost - b)).

        By Newton steps on t = log(b / (cost - b)), in which the function rises with a slope
        between 1 and 1 + square cost / 4. The bracket keeps steps on the flat parts of the sigmoid
        from jumping over the root. It stays narrow where the cost is huge: square b is at most 1
        below t = -log(square cost).
        """
        margin, a = target * score, target * dual
        low, high = -margin - square * (cost - a), -margin + square * a
        if square > 0:
            low = max(low, min(high - 1.0, -np.log(square) - np.log(cost)))
        t = np.log(a / (cost - a)) if 0 < a < cost else 0.5 * (low + high)
        b = a
        for turn in range(50):
            if turn % 4 == 3 or not low <= t <= high:
                t = 0.5 * (low + high)
            share = 1.0 / (1.0 + np.exp(-t))
            b = cost * share
            rise = square * (b - a) + margin + t
            if abs(rise) <= 1e-10 * (1.0 + abs(t)):
                break
            if rise > 0:
                high = t
            else:
                low = t
            t -= rise / (1.0 + square * b * (1.0 - share))
        return target * b


class SquaredError(Loss):
    """cost (score - target)^2: ridge regression."""

    label = "squared error"
    predicts = "values"
    solvers = ("descent", "newton")
    quadratic_conjugate = True

    def value(self, score: float, target: float, cost: float) -> float:
        error = score - target
        return cost * error * error

    def slope(self, score: float, target: float, cost: float) -> float:
        return 2.0 * cost * (score - target)

    def curvature(self, score: float, target: float, cost: float) -> float:
        return 2.0 * cost

    def conjugate(self, dual: float, target: float, cost: float) -> float:
        return dual * (dual / (4.0 * cost)) - dual * target

    def best_dual(
        self, score: float, target: float, cost: float, dual: float, square: float
    ) -> float:
        return dual - (score - target + dual / (2.0 * cost)) / (square + 0.5 / cost)


LOSSES: dict[str, Loss] = {
    "squared_hinge": SquaredHinge(),
    "hinge": Hinge(),
    "log_loss": LogLoss(),
    "squared_error": SquaredError(),
}


def loss_names(predicts: str) -> tuple[str, ...]:
    """The names of the losses for classes, or for values."""
    return tuple(name for name, loss in LOSSES.items() if loss.predicts == predicts)


def loss_of(loss: Any, predicts: str) -> Loss:
    """The loss that a parameter names or is; it has to be one for classes, or for values."""
    chosen = LOSSES.get(loss) if isinstance(loss, str) else loss
    if isinstance(chosen, Loss) and chosen.predicts == predicts:
        return chosen
    names = ", ".join(loss_names(predicts))
    if isinstance(chosen, Loss):
        raise ParameterError(
            f"loss: the {chosen.label} is for {chosen.predicts}, and {predicts} are to be learned; "
            f"choose one of {names}."
        )
    raise ParameterError(f"loss: got {loss!r}; choose one of {names}, or give a linear.Loss.")
