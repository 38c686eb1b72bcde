"""The descent: gaps and distances once more, in double precision."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from corekernels.errors import DataError, ParameterError
from corekernels.linear import HashedLinearClassifier, HashedLinearRegressor
from corekernels.linear.coefficients import Coefficients
from corekernels.linear.descent import solve
from corekernels.linear.losses import loss_names
from support import objectives


def with_intercept(S):
    """The expanded rows and a column of ones, in double precision."""
    return sparse.hstack([S.to_csr(), np.ones((len(S), 1))], "csr", np.float64)


@pytest.mark.parametrize("loss", loss_names("classes"))
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_gap_is_below_the_tolerance(digits, S, loss, tol):
    """The gap once more, from the coefficients and the dual variables."""
    y, C = digits[1], 2.0
    model = HashedLinearClassifier(loss, tol=tol, max_iter=20_000, random_state=0)
    classes, problem, training = model._read(S, y, None)
    blocks = problem.blocks(training, C)
    states, outcomes = solve(training.packed, blocks, model._options(), None)
    coefficients = Coefficients.of(S.recipe, states, problem.intercept)
    duals = np.concatenate([state.duals for state in states], axis=1)
    reported = np.concatenate([outcome.relative_gaps for outcome in outcomes])
    X = with_intercept(S)
    for plane, label in enumerate(classes):
        signs, a = np.where(y == label, 1.0, -1.0), duals[:, plane]
        assert (signs * a).min() >= 0
        if loss == "hinge":
            assert (signs * a).max() <= C
        w = np.append(coefficients.expanded()[plane], coefficients.intercepts[plane]).astype(
            np.float64
        )
        primal = objectives.primal(loss, w, X @ w, signs, C)
        gap = (primal - objectives.dual(loss, X.T @ a, signs, C, signs * a)) / primal
        assert gap <= tol * 1.01
        assert gap == pytest.approx(reported[plane], rel=0.02, abs=2e-7)


@pytest.mark.parametrize("loss", loss_names("classes"))
def test_weight_vectors_are_as_near_as_their_tolerance_says(digits, S, loss):
    """The objective grows by half the squared distance at least, so the gap bounds the distance."""
    model = HashedLinearClassifier(loss, tol=1e-6, max_iter=20_000, random_state=0)
    _, problem, training = model._read(S, digits[1], None)
    blocks, options = problem.blocks(training, 0.5), model._options()
    near, best = (
        Coefficients.of(S.recipe, solve(training.packed, blocks, some, None)[0], 1.0)
        for some in (replace(options, coef_tol=0.01), options)
    )
    found, exact = (np.c_[p.expanded(), p.intercepts].astype(float) for p in (near, best))
    distances = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(found, axis=1)
    # A gap of 1e-6 of the objective, itself at most 100 times |w|^2 / 2, is a distance of 0.01.
    assert distances.max() <= 0.1 + 0.01


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_gap_of_the_hinge_loss_is_true_at_large_costs(digits, S, C):
    """Single precision margins once gave a gap of 0 here, far from the optimum."""
    y = digits[1] % 2
    model = HashedLinearClassifier("hinge", tol=1e-5, max_iter=300, random_state=0)
    _, problem, training = model._read(S, y, None)
    with np.errstate(all="raise"):
        states, outcomes = solve(
            training.packed, problem.blocks(training, C), model._options(), None
        )
    X = with_intercept(S)
    coefficients = Coefficients.of(S.recipe, states, problem.intercept)
    w = np.append(coefficients.expanded()[0], coefficients.intercepts[0]).astype(np.float64)
    signs = np.where(y == 1, 1.0, -1.0)
    rows, a = training.rows, states[0].duals[training.rows, 0]
    c = C * training.row_weights[rows]
    primal = objectives.primal("hinge", w, X[rows] @ w, signs[rows], c)
    dual = objectives.dual("hinge", X[rows].T @ a, signs[rows], c, signs[rows] * a)
    assert outcomes[0].objectives[0] == pytest.approx(primal, rel=1e-6)
    assert outcomes[0].relative_gaps[0] == pytest.approx((primal - dual) / primal, rel=1e-4)


@pytest.mark.filterwarnings("ignore:After")
@pytest.mark.parametrize("C", [1e60, 1e300])
def test_huge_costs_of_the_log_loss(digits, S, C):
    model = HashedLinearClassifier("log_loss", C=C, max_iter=50, random_state=0)
    model.fit(S[:300], digits[1][:300] % 2)
    assert np.isfinite(model.coef_).all()
    assert model.score(S[:300], digits[1][:300] % 2) == 1


@pytest.mark.parametrize("loss", loss_names("classes"))
def test_costs_that_underflow_are_refused(digits, S, loss):
    tiny = np.full(len(S), 1e-200)
    with pytest.raises(ParameterError, match="C: times the weights"):
        HashedLinearClassifier(loss, C=1e-200).fit(S, digits[1], tiny)
    with pytest.raises(ParameterError, match="C: times the weights"):
        HashedLinearClassifier(loss, C=1e200).fit(S, digits[1], 1 / tiny)


@pytest.mark.parametrize("factor", [1e38, 1e200, 1e-40])
def test_values_beyond_single_precision_are_refused(digits, S, factor):
    with pytest.raises(DataError, match="multiply y by a constant"):
        HashedLinearRegressor().fit(S, digits[1] * factor)
