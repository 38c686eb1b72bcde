"""What the linear models on signatures share: options, the solver, the fitted state."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import require_count, require_positive, seed_of
from .._core.estimator import DocumentationLink
from .._loops.learning.descent import Solution
from .._loops.simd.vectors import LANES
from ..recipe import Recipe
from .coefficients import Coefficients
from .descent import solve
from .losses import Loss, loss_of
from .problem import Options, Outcome
from .rows import TrainingSet
from .solver import SOLVE, MakeBlocks, choose_solver


class OfProbabilities:
    """A method that exists if the loss gives probabilities; else its error names the remedies."""

    def __init__(self, method: Any) -> None:
        self.method = method

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.method
        loss = loss_of(model.loss, "classes")
        if not loss.has_probabilities:
            raise AttributeError(
                f"{type(model).__name__}: the {loss.label} gives no probabilities; take "
                'loss="log_loss", or calibrate the scores: CalibratedClassifierCV of scikit-learn '
                "around a CoREClassifier."
            )
        return self.method.__get__(model, owner)


OF_A_FIT = ("n_iter_", "dual_gap_")  # attributes that neither a stream nor a file has


class HashedLinearModel(DocumentationLink, BaseEstimator):
    """A linear model that learns from signatures."""

    loss: str | Loss
    C: float
    tol: float
    max_iter: int
    fit_intercept: bool
    intercept_scaling: float
    solver: str
    random_state: Any
    n_jobs: int | None
    n_iter_: int
    n_rows_: int
    _coefficients: Coefficients

    @property
    def coef_(self) -> npt.NDArray[np.float32]:
        """Weight vectors, expanded on request, with the columns of `Signatures.to_csr`."""
        check_is_fitted(self)
        return self._coefficients.expanded()

    def _options(self) -> Options:
        """The checked options of the solver."""
        return Options(
            require_positive("tol", self.tol),
            require_count("max_iter", self.max_iter),
            (seed_of(self.random_state),),
        )

    def _learn(
        self, training: TrainingSet, make_blocks: MakeBlocks, recipe: Recipe, options: Options,
        solutions: Sequence[Solution] | None = None,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """Solve the problems, or go on from the solutions of a descent, and keep what is found.

        Gives the duality gaps over the objectives, one per problem.
        """
        blocks = make_blocks(LANES)
        if solutions is None:
            n_problems = sum(block.n_lanes for block in blocks)
            choice = choose_solver(self.solver, blocks[0], n_problems, training, self.n_jobs)
            solutions, outcomes = SOLVE[choice.solver](
                training.packed, make_blocks(choice.width), options, self.n_jobs
            )
        else:
            solutions, outcomes = solve(training.packed, blocks, options, self.n_jobs, solutions)
        if not all(outcome.converged for outcome in outcomes):  # at the caller of `fit`
            warn_of_gaps(outcomes, options, training.conflicting_weight, stacklevel=4)
        coefficients = Coefficients.of(recipe, solutions, blocks[0].intercept)
        self._keep(coefficients.in_usual_blocks(), len(training.packed))
        self.n_iter_ = max(outcome.n_iter for outcome in outcomes)
        return np.concatenate([outcome.relative_gaps for outcome in outcomes])

    def _keep(self, coefficients: Coefficients, n_rows: int) -> None:
        """Keep what was learned from so many rows; drop the attributes of an earlier fit."""
        self._coefficients, self.n_rows_ = coefficients, n_rows
        for name in OF_A_FIT:
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_coefficients")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # Signatures
        tags.no_validation = True
        return tags


def warn_of_gaps(
    outcomes: Sequence[Outcome], options: Options, conflicting_weight: float, stacklevel: int
) -> None:
    """Say what to change where a gap is still too large.

    `conflicting_weight` is that of equal rows with different targets, which slow a descent down.
    """
    worst = max(outcome.relative_gaps.max() for outcome in outcomes)
    name, limits = "tol", f"tol={options.tol:.1e}"
    if options.coef_tol > 0:
        name = "path_tol"
        limits += f" and for path_tol={options.coef_tol:.1e} of |w|^2 / 2"
    cause = ""
    if conflicting_weight > 0:
        cause = (
            f" Equal rows with different targets, of weight {conflicting_weight:.6g} together, "
            'slow it down; solver="newton" does not mind them.'
        )
    n_passes = max(outcome.n_iter for outcome in outcomes)
    warnings.warn(
        f"After {n_passes} passes over the rows (max_iter={options.max_iter}) the duality gap is "
        f"{worst:.1e} of the objective, too much for {limits}: raise max_iter or {name}, or lower "
        f"C.{cause}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
