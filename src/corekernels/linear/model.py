"""What the linear models on signatures share: options, the descent, the fitted state."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import require_count, require_positive, seed_of
from .._core.display import DocumentationLink
from .._core.threads import thread_count
from ..recipe import Recipe
from .descent import Block, Options, Outcome, State, as_planes, solve
from .planes import Planes
from .training_set import TrainingSet


class HashedLinearModel(DocumentationLink, BaseEstimator):
    """A linear model that learns from signatures by dual coordinate descent."""

    C: float
    tol: float
    max_iter: int
    fit_intercept: bool
    intercept_scaling: float
    random_state: Any
    n_jobs: int | None
    n_iter_: int
    n_rows_: int
    _planes: Planes

    @property
    def coef_(self) -> npt.NDArray[np.float32]:
        """The planes in the order of the columns of `Signatures.to_csr`, expanded on request."""
        check_is_fitted(self)
        return self._planes.coefficients()

    def _options(self) -> Options:
        """When the descent ends, and its seed."""
        thread_count(self.n_jobs)
        return Options(
            require_positive("tol", self.tol),
            require_count("max_iter", self.max_iter),
            (seed_of(self.random_state),),
        )

    def _constant(self) -> float:
        """Value of the constant column that carries the intercept; 0: no intercept."""
        scaling = require_positive("intercept_scaling", self.intercept_scaling)
        return scaling if self.fit_intercept else 0.0

    def _learn(
        self, training: TrainingSet, blocks: Sequence[Block], recipe: Recipe, options: Options,
        states: Sequence[State] | None = None,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """Solve the problems, from `states` if there are some, and keep the solution.

        Gives the duality gaps over the objectives, one per problem.
        """
        states, outcomes = solve(training.packed, blocks, options, self.n_jobs, states)
        warn_unless_converged(outcomes, options, stacklevel=4)  # the caller of `fit`
        planes = as_planes(recipe, states, blocks[0].intercept)
        self._keep(planes, len(training.packed))
        self.n_iter_ = max(outcome.n_iter for outcome in outcomes)
        return np.concatenate([outcome.relative_gaps for outcome in outcomes])

    def _keep(self, planes: Planes, n_rows: int) -> None:
        """Take over what was learned from this many rows."""
        self._planes, self.n_rows_ = planes, n_rows

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_planes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # Signatures
        tags.no_validation = True
        return tags


def warn_unless_converged(
    outcomes: Sequence[Outcome], options: Options, stacklevel: int = 3
) -> None:
    """Say what to change where a gap is still too large."""
    if all(outcome.converged for outcome in outcomes):
        return
    worst = max(outcome.relative_gaps.max() for outcome in outcomes)
    name, asked = "tol", f"tol={options.tol:.1e}"
    if options.plane_tol > 0:
        name = "path_tol"
        asked += f" and for path_tol={options.plane_tol:.1e} of |w|^2 / 2"
    warnings.warn(
        f"After max_iter={options.max_iter} sweeps the duality gap is {worst:.1e} of the "
        f"objective, too much for {asked}: raise max_iter or {name}, or lower C.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
