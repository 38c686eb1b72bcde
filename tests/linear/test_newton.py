"""Truncated Newton: the problem of the descent, solved from sums over the rows."""

from dataclasses import replace

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import ParameterError
from corekernels.linear import HashedLinearClassifier, HashedLinearRegressor
from corekernels.linear.coefficients import Coefficients
from corekernels.linear.descent import solve
from corekernels.linear.newton import Newton, Passes, Vector
from corekernels.linear.solver import SolverChoice, choose_solver
from support import objectives

SMOOTH = ("squared_hinge", "log_loss")


@pytest.mark.parametrize("kernel", ["resemblance", "core1", "core2"])
@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_objective_and_gap(digits, kernel, loss, n_classes):
    """Once more in double precision, from the coefficients."""
    X, y = digits[0][:400], digits[1][:400] % n_classes
    S = ck.CoREHasher(kernel, n_hashes=70, random_state=0).fit(X).sketch(X)
    model = HashedLinearClassifier(loss, C=3.0, tol=1e-5, solver="newton").fit(S, y)
    other = HashedLinearClassifier(loss, C=3.0, tol=1e-6, solver="descent").fit(S, y)
    Z = np.column_stack([S.to_csr().toarray(), np.ones(len(S))]).astype(np.float64)
    vectors = np.column_stack([model.coef_, model.intercept_]).astype(np.float64)
    best = np.column_stack([other.coef_, other.intercept_]).astype(np.float64)
    for plane, label in enumerate([1] if n_classes == 2 else range(n_classes)):
        signs, w = np.where(y == label, 1.0, -1.0), vectors[plane]
        m = signs * (Z @ w)
        a = 6.0 * np.maximum(0, 1 - m) if loss == "squared_hinge" else 3.0 / (1 + np.exp(m))
        primal = objectives.primal(loss, w, Z @ w, signs, 3.0)
        dual = objectives.dual(loss, Z.T @ (signs * a), signs, 3.0, a)
        gap = (primal - dual) / primal
        assert 0 <= gap <= 1.01e-5
        assert gap == pytest.approx(model.dual_gap_[plane], rel=0.02, abs=1e-8)
        lowest = objectives.primal(loss, best[plane], Z @ best[plane], signs, 3.0)
        assert primal <= lowest * (1 + 1e-5)


@pytest.mark.parametrize("loss", SMOOTH)
def test_lanes_side_by_side_are_solved_as_alone(digits, S, loss):
    y = digits[1]
    model = HashedLinearClassifier(loss)
    _, problem, training = model._read(S, y, None)
    wide, *_ = problem.blocks(training, 1.0)
    packed = training.packed
    w = Vector.zero(packed, wide.n_lanes)
    outcome = Newton(Passes(packed, wide, 2), w, model._options(), 2).solve()
    assert outcome.converged
    for lane, block in enumerate(problem.blocks(training, 1.0, width=1)[: wide.n_lanes]):
        alone = Vector.zero(packed, 1)
        found = Newton(Passes(packed, block, 1), alone, model._options(), 1).solve()
        assert found.objectives[0] == pytest.approx(outcome.objectives[lane], rel=2e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_change_nothing(digits, S, n_classes):
    y = digits[1] % n_classes
    one, many = (
        HashedLinearClassifier(solver="newton", n_jobs=n_jobs).fit(S, y) for n_jobs in (1, 5)
    )
    np.testing.assert_array_equal(one.coef_, many.coef_)
    np.testing.assert_array_equal(one.intercept_, many.intercept_)
    np.testing.assert_array_equal(one.dual_gap_, many.dual_gap_)


def test_parts_of_the_rows_add_up(digits, S):
    """What each part finds at the same point sums to what all rows find together."""
    _, problem, training = HashedLinearClassifier()._read(S, digits[1] % 2, None)
    (block,) = problem.blocks(training, 1.0)
    packed, rng = training.packed, np.random.default_rng(0)
    w, direction = (Vector.zero(packed, 1) for _ in range(2))
    w.coef[...] = rng.normal(size=w.coef.shape) * 0.1
    direction.coef[...] = rng.normal(size=w.coef.shape)

    def sums(rows):
        passes = Passes(packed, replace(block, rows=rows), None)
        gradient, product = (Vector.zero(packed, 1) for _ in range(2))
        passes.move_to(w)
        losses = passes.gradient(gradient)
        passes.choose_lanes(np.ones(1, np.bool_))
        passes.product(direction, product)
        along = passes.losses_along(direction, np.array([0.0, 0.5]))
        return [losses, gradient.coef, gradient.biases, product.coef, product.biases, along]

    whole = sums(block.rows)
    parts = [sums(rows) for rows in np.array_split(block.rows, 3)]
    for total, *shares in zip(whole, *parts, strict=True):
        np.testing.assert_allclose(np.sum(shares, axis=0), total, rtol=1e-4, atol=2e-4)
    assert whole[5][0] == pytest.approx(whole[0])


def test_regression(digits, S):
    y = digits[1].astype(float)
    newton, descent = (
        HashedLinearRegressor(solver=solver, tol=1e-7, max_iter=3000).fit(S, y)
        for solver in ("newton", "descent")
    )
    np.testing.assert_allclose(newton.predict(S), descent.predict(S), atol=5e-3)


def test_row_weights_and_class_weights(digits, S):
    y = digits[1] % 3
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    found = [
        HashedLinearClassifier(solver=solver, tol=1e-6, class_weight={0: 2.0, 1: 0.5})
        .fit(S, y, weights)
        .decision_function(S)
        for solver in ("newton", "descent")
    ]
    np.testing.assert_allclose(*found, atol=0.01)


@pytest.mark.parametrize("loss", SMOOTH)
def test_many_empty_rows_do_not_stop_convergence(digits, loss):
    """Their labels differ, and a descent goes back and forth between them."""
    X, y = digits[0].copy(), digits[1] % 2
    X[97:] = 0
    S = ck.CoREHasher(n_hashes=64, random_state=0).fit(X).sketch(X)
    model = HashedLinearClassifier(loss, random_state=0).fit(S, y)
    assert model.n_iter_ < 100
    assert model.dual_gap_[0] <= 1e-5


def test_empty_rows_are_named_where_they_slow_a_descent_down(digits):
    X, y = digits[0].copy(), digits[1] % 2
    X[97:] = 0
    S = ck.CoREHasher(n_hashes=64, random_state=0).fit(X).sketch(X)
    model = HashedLinearClassifier(solver="descent", max_iter=50, random_state=0)
    with pytest.warns(match="Equal rows with different targets, of weight 1701 together"):
        model.fit(S, y)


def test_hinge_has_no_second_derivative(digits, S):
    with pytest.raises(
        ParameterError,
        match="solver: got 'newton', which cannot solve the hinge loss; choose descent",
    ):
        HashedLinearClassifier("hinge", solver="newton").fit(S, digits[1])
    with pytest.raises(ParameterError, match="solver: got 'fast'"):
        HashedLinearClassifier(solver="fast").fit(S, digits[1])


@pytest.mark.parametrize(
    ("loss", "n_classes", "n_jobs", "choice"),
    [
        ("squared_hinge", 2, 1, SolverChoice("descent", 8)),
        ("squared_hinge", 2, 2, SolverChoice("descent", 8)),
        ("squared_hinge", 2, 16, SolverChoice("newton", 1)),
        ("hinge", 2, 16, SolverChoice("descent", 8)),
        ("log_loss", 2, 16, SolverChoice("newton", 1)),
        ("squared_hinge", 10, 2, SolverChoice("descent", 8)),
        ("squared_hinge", 10, 16, SolverChoice("descent", 1)),
        ("squared_hinge", 100, 8, SolverChoice("descent", 8)),
    ],
)
def test_what_auto_takes(loss, n_classes, n_jobs, choice):
    """By threads and classes, once there are many rows."""
    n = 20_000
    X = np.random.default_rng(0).random((n, 8))
    S = ck.CoREHasher(n_hashes=4, random_state=0).fit(X).sketch(X)
    y = np.arange(n) % n_classes
    _, problem, training = HashedLinearClassifier(loss)._read(S, y, None)
    block = problem.blocks(training, 1.0)[0]
    assert choose_solver("auto", block, problem.n_problems, training, n_jobs) == choice


def test_narrow_blocks_become_usual_ones(digits, S):
    """Two problems at a time find what eight do, within the tolerance."""
    model = HashedLinearClassifier(tol=1e-6, random_state=0)
    _, problem, training = model._read(S, digits[1], None)
    found = {}
    for width in (1, 2, 8):
        blocks = problem.blocks(training, 1.0, width)
        solutions, _ = solve(training.packed, blocks, model._options(), 2)
        found[width] = Coefficients.of(S.recipe, solutions, problem.intercept).in_usual_blocks()
    for width in (1, 2):
        np.testing.assert_allclose(found[width].scores(S), found[8].scores(S), atol=0.02)
        assert [b.shape for b in found[width].blocks] == [b.shape for b in found[8].blocks]
