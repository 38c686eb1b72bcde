"""The learning loops on small inputs: also run with NUMBA_DISABLE_JIT=1, as plain Python."""

import numpy as np
import pytest
from numba import njit

from corekernels._core.validation import read_only
from corekernels._loops.learning import descent, losses, scoring
from corekernels._loops.simd import halves, vectors
from corekernels.linear import descent as training
from corekernels.linear import newton
from corekernels.linear.coefficients import (
    codes_in_use,
    inner_products,
    side_by_side,
    zero_coef,
)
from corekernels.linear.descent import extrapolate
from corekernels.linear.losses import LOSSES
from corekernels.linear.newton import Vector
from corekernels.linear.path import _copy
from corekernels.linear.problem import Block, Options
from corekernels.linear.rows import Packed
from support import objectives

OPTIONS = Options(tol=1e-5, max_iter=300, seed=(0,))


KINDS = [
    (7, np.uint8, True),
    (8, np.uint16, True),
    (5, np.uint8, False),
    (7, np.int8, True),
    (6, np.int16, True),
]


@pytest.fixture(params=KINDS)
def rows(request):
    """Codes, weights (bits of halves), lengths of 9 rows over 6 codes; row 4 is empty.

    Signed integers are slots: codes and weights at once. All are read-only, as the package passes
    them to the loops, which are compiled anew for arrays that are not.
    """
    k, dtype, weighted = request.param
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (9, k)).astype(dtype)
    weights = rng.normal(size=(9, k)).astype(np.float16).view(np.uint16)
    lengths = rng.integers(1, 5, 9)
    codes[4], weights[4], lengths[4] = 0, 0, 0
    if dtype in (np.int8, np.int16):
        codes = codes | rng.integers(-8, 8, codes.shape, dtype) << 4 * codes.itemsize
        return read_only(codes), read_only(codes), read_only(lengths)
    return read_only(codes), (read_only(weights) if weighted else None), read_only(lengths)


def expand(codes, weights, lengths, n_codes=6):
    """The design matrix, densely: (row, code, slot)."""
    X = np.zeros((len(codes), n_codes, codes.shape[1]))
    values_of = np.ones(codes.shape)
    if codes.dtype.kind == "i":
        bits = 4 * codes.itemsize
        values_of, codes = 2.0 * (codes >> bits) + 1, codes & (1 << bits) - 1
    elif weights is not None:
        values_of = weights.view(np.float16).astype(float)
    for i, row in enumerate(codes):
        values = values_of[i]
        X[i, row, np.arange(len(row))] = values * (lengths[i] > 0)
        X[i] /= np.sqrt((X[i] ** 2).sum()) or 1
    return X


def scales_of(codes, weights, lengths):
    scales = np.empty(len(codes), np.float32)
    scoring.row_scales(weights, lengths, codes.shape[1], scales)
    return scales


def pack(codes, weights, lengths):
    return Packed(codes, weights, read_only(scales_of(codes, weights, lengths)), 6)


def packed_rows(codes, weights, scales, buffer):
    weights = None if weights is None else read_only(weights)
    return scoring.PackedRows(read_only(codes), weights, read_only(scales), buffer)


def problem_of(loss, targets):
    """Costs of 1, no intercept."""
    row_costs, costs = np.ones(len(targets)), np.ones((2, targets.shape[1]))
    loss = LOSSES[loss].in_loops()
    return descent.Problem(loss, read_only(targets), read_only(row_costs), read_only(costs), 0.0)


def lanes():
    """Scratch of a sweep."""
    return np.zeros((2, 8), np.float32)


def test_lanes():
    x, y, z = (np.arange(8, dtype=np.float32) + shift for shift in (0, 1, 2))
    out = np.zeros((3, 8), np.float32)
    vectors.store(vectors.multiply_add(x, y, z), 8, out)
    np.testing.assert_array_equal(out, [np.zeros(8), x * y + z, np.zeros(8)])
    np.testing.assert_array_equal(vectors.load(out, 8), vectors.add(vectors.splat(0), out[1]))


@pytest.mark.parametrize("n_lanes", [1, 3])
def test_scores_and_additions(rows, n_lanes):
    codes, weights, _ = rows
    X, scales = expand(*rows), scales_of(*rows)
    rng = np.random.default_rng(1)
    coef = zero_coef(6, codes.shape[1], n_lanes)
    coef[...] = rng.normal(size=coef.shape)
    dense = coef.reshape(6, codes.shape[1], -1)[..., :n_lanes].astype(float)
    intercepts = read_only(rng.normal(size=n_lanes))
    which = read_only(np.array([8, 4, 0]))
    out = np.empty((3, n_lanes))
    scoring.score_rows(*pack(*rows).rows(), which, read_only(coef), None, n_lanes, intercepts, out)
    expected = np.einsum("ncj,cjp->np", X[which], dense) + intercepts
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)

    steps = np.zeros(8, np.float32)
    steps[:n_lanes] = rng.normal(size=n_lanes)
    numbers = None
    if weights is not None:
        numbers = np.empty(codes.shape[1], np.float32)
        halves.read_weights(weights, 2, 0, codes.shape[1], numbers)
    scoring.add_row(codes, weights, 2, numbers, 5, steps * scales[2], coef)
    found = coef.reshape(6, codes.shape[1], -1)[..., :n_lanes]
    np.testing.assert_allclose(found, dense + X[2][..., None] * steps[:n_lanes], atol=1e-5)


def test_scales_of_long_rows():
    weights = np.random.default_rng(0).lognormal(sigma=2, size=(3, 1203)).astype(np.float16)
    scales = scales_of(weights, weights.view(np.uint16), np.ones(3, int))
    expected = 1 / np.sqrt((weights.astype(float) ** 2).sum(axis=1))
    np.testing.assert_allclose(scales, expected, rtol=1e-6)


def test_digests_tell_rows_apart(rows):
    codes, weights, _ = rows
    out = np.empty(len(codes), np.uint64)
    some = None if weights is None else weights[3:5]
    with np.errstate(over="ignore"):
        scales = scales_of(*rows)
        scoring.row_digests(codes, weights, scales, out)
        again = np.empty(2, np.uint64)
        scoring.row_digests(codes[3:5], some, scales[3:5], again)
    assert len(np.unique(out)) == len(out)
    np.testing.assert_array_equal(again, out[3:5])


TARGETS = {
    name: (-1.0, 1.0) if loss.predicts == "classes" else (-0.5, 2.0)
    for name, loss in LOSSES.items()
}
CASES = [(name, target) for name, targets in TARGETS.items() for target in targets]


def gap(loss, score, target, c, dual):
    """What a row adds to the duality gap."""
    return loss.value(score, target, c) + loss.conjugate(dual, target, c) + dual * score


def inside(loss, target, c):
    """A finite part of the domain of the dual variable."""
    return np.clip(loss.dual_bounds(target, c), -40.0, 40.0)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_gap_is_zero_exactly_at_the_dual_of_the_score(name, target):
    loss, c, step = LOSSES[name], 0.7, 1e-6
    low, high = inside(loss, target, c)
    for score in (-2.0, -0.3, 0.3, 0.999, 1.7):
        slope = (loss.value(score + step, target, c) - loss.value(score - step, target, c)) / (
            2 * step
        )
        assert gap(loss, score, target, c, -slope) == pytest.approx(0, abs=1e-8)
        other = 0.5 * (-slope + (low if -slope > 0.5 * (low + high) else high))
        assert gap(loss, score, target, c, other) > 1e-4


@pytest.mark.parametrize(("name", "target"), CASES)
@pytest.mark.parametrize("square", [0.0, 1.0, 2.0])
def test_step_finds_the_best_dual(name, target, square):
    """Against a fine grid of the one-variable problem."""
    loss = LOSSES[name]
    for score, c, a in [(-3.0, 0.5, 0.2), (0.9, 10.0, 3.0), (4.0, 2.0, 1.0), (0.0, 1.0, 0.0)]:
        low, high = inside(loss, target, c)
        dual = a if low <= a <= high else -a
        grid = np.linspace(low, high, 20001)
        conjugates = [loss.conjugate(other, target, c) for other in grid]
        values = 0.5 * square * (grid - dual) ** 2 + score * grid + conjugates
        best = loss.best_dual(score, target, c, dual, square)
        assert low <= best <= high
        assert best == pytest.approx(grid[values.argmin()], abs=2 * (high - low) / 20000)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_slopes_of_the_dual_problem(name, target):
    """Against differences of the conjugate."""
    loss, c, step = LOSSES[name], 0.7, 1e-5
    if not loss.shrinks:
        return
    low, high = inside(loss, target, c)
    for dual in np.linspace(low, high, 5)[1:-1]:
        rise = loss.conjugate(dual + step, target, c) - loss.conjugate(dual - step, target, c)
        slope = loss.dual_slope(0.3, target, c, dual)
        assert slope == pytest.approx(rise / (2 * step) + 0.3, abs=1e-6)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_loops_call_the_methods_of_the_loss(name, target):
    """Compiled once per class, from the text that Python runs."""
    loss, row = LOSSES[name], losses
    tupled, c = loss.in_loops(), 0.7
    arguments = 0.3, target, c
    dual = 0.2 * target
    assert ask(row.loss_value, tupled, *arguments) == pytest.approx(loss.value(*arguments))
    assert ask(row.conjugate, tupled, dual, target, c) == pytest.approx(
        loss.conjugate(dual, target, c)
    )
    assert ask(row.best_dual, tupled, *arguments, dual, 1.0) == pytest.approx(
        loss.best_dual(*arguments, dual, 1.0)
    )
    assert ask(row.shrinks, tupled) == loss.shrinks


def ask(question, *arguments):
    """The answer that a compiled loop gets."""
    return njit(lambda given: question(*given))(arguments)


TARGET_TYPES = {
    name: np.int8 if loss.predicts == "classes" else np.float64 for name, loss in LOSSES.items()
}


def each_kind_and(name, first, *others):
    """All kinds of rows with the first value of a parameter, and one kind with the others.

    Loops are compiled for each kind and value; what is done with the one does not see the other.
    """
    cases = [(kind, first) for kind in KINDS] + [(KINDS[0], other) for other in others]
    return pytest.mark.parametrize(("rows", name), cases, indirect=["rows"])


@each_kind_and("loss", "squared_hinge", "hinge", "log_loss", "squared_error")
@pytest.mark.parametrize("n_lanes", [1, 2])
def test_descent_closes_the_gap(rows, loss, n_lanes):
    codes = rows[0]
    X = expand(*rows).reshape(9, -1)
    data = pack(*rows)
    rng = np.random.default_rng(2)
    targets = rng.choice([-1, 1], (9, n_lanes)).astype(TARGET_TYPES[loss])
    row_costs = rng.uniform(0.5, 2, 9)
    costs = np.array([[0.5] * n_lanes, [1.5] * n_lanes])
    which = np.array([0, 1, 2, 4, 5, 7, 8])
    block = Block(LOSSES[loss], which, read_only(targets), read_only(row_costs), costs, 0.8)
    state = training.zero_solution(data, n_lanes)
    outcome = training.descend(data, block, state, OPTIONS)
    assert outcome.converged
    assert not state.duals[[3, 6]].any()
    for lane in range(n_lanes):
        y, a = targets[which, lane].astype(float), state.duals[which, lane]
        c = row_costs[which] * np.where(y > 0, 1.5, 0.5)
        features = np.column_stack([X[which], np.full(len(which), 0.8)])
        sign = np.ones(len(y)) if loss == "squared_error" else y
        w = features.T @ a
        coef = state.coef.reshape(6, codes.shape[1], -1)[..., lane]
        np.testing.assert_allclose(coef.reshape(-1), w[:-1], atol=1e-5)
        primal = objectives.primal(loss, w, features @ w, y, c)
        assert primal - objectives.dual(loss, w, y, c, sign * a) <= 1.1e-5 * primal
        assert outcome.objectives[lane] == pytest.approx(primal, rel=1e-5)


@pytest.mark.parametrize(("name", "target"), [case for case in CASES if case[0] != "hinge"])
def test_slopes_and_curvatures(name, target):
    """Against differences of the losses."""
    loss, c, step = LOSSES[name], 0.7, 1e-4
    for score in (-2.0, 0.3, 1.7):
        low, here, high = (loss.value(score + d, target, c) for d in (-step, 0, step))
        slope = (high - low) / (2 * step)
        assert loss.slope(score, target, c) == pytest.approx(slope, abs=1e-6)
        second = (high - 2 * here + low) / step**2
        assert loss.curvature(score, target, c) == pytest.approx(second, abs=1e-4)


@each_kind_and("n_lanes", 3, 1)
def test_passes_over_rows(rows, n_lanes):
    """Gradient, Hessian product and losses along a line, against a dense matrix."""
    data, rng, y = pack(*rows), np.random.default_rng(3), np.array([1, -1] * 4 + [1.0])
    X = np.column_stack([expand(*rows).reshape(9, -1), np.full(9, 0.8)])
    targets = np.repeat(y[:, None], n_lanes, axis=1).astype(np.int8)
    chosen = np.array([0, 1, 2, 4, 5, 8])
    costs = np.full((2, n_lanes), 0.5)
    block = Block(
        LOSSES["squared_hinge"], chosen, read_only(targets), read_only(np.ones(9)), costs, 0.8
    )
    w, direction, gradient, product = (Vector.zero(data, n_lanes) for _ in range(4))
    for vector in (w, direction):
        vector.coef[..., :n_lanes] = rng.normal(size=vector.coef[..., :n_lanes].shape)
        vector.biases[:] = rng.normal(size=n_lanes)
    sums = newton.Passes(data, block, 2)
    sums.move_to(w)
    total = sums.gradient(gradient)
    sums.choose_lanes(np.ones(n_lanes, np.bool_))
    sums.product(direction, product)
    along = sums.losses_along(direction, np.array([0.0, 0.3]))

    def dense(vector, lane):
        coef = vector.coef.reshape(*vector.coef.shape[:2], -1)[..., lane]
        return np.append(coef.reshape(-1), vector.biases[lane]).astype(float)

    Z, signs = X[chosen], y[chosen]
    for lane in range(n_lanes):
        v, d = dense(w, lane), dense(direction, lane)
        short = np.maximum(0, 1 - signs * (Z @ v))
        assert total[lane] == pytest.approx(0.5 * (short**2).sum(), rel=1e-5)
        slope = Z.T @ (-signs * short)
        np.testing.assert_allclose(dense(gradient, lane), slope, atol=1e-5)
        curved = Z.T @ ((short > 0) * (Z @ d))
        np.testing.assert_allclose(dense(product, lane), curved, atol=1e-5)
        later = np.maximum(0, 1 - signs * (Z @ (v + 0.3 * d)))
        assert along[1, lane] == pytest.approx(0.5 * (later**2).sum(), rel=1e-4)


@pytest.mark.parametrize("n_lanes", [1, 3])
def test_sums_of_vectors(rows, n_lanes):
    data, rng = pack(*rows), np.random.default_rng(4)
    x, y, z = (Vector.zero(data, n_lanes) for _ in range(3))
    for vector in (x, y, z):
        vector.coef[..., :n_lanes] = rng.normal(size=vector.coef[..., :n_lanes].shape)
        vector.biases[:] = rng.normal(size=n_lanes)
    factors = np.array([0.5, -1.0, 0.25])[:n_lanes]
    expected = x.coef + y.coef * (factors[0] if n_lanes == 1 else [*factors, 0, 0, 0, 0, 0])
    squares, products = z.add(factors, y, y, 2, base=x)
    np.testing.assert_allclose(z.coef, expected, rtol=1e-6)
    np.testing.assert_allclose(z.biases, x.biases + factors * y.biases)
    flat = z.coef.reshape(-1, 1 if n_lanes == 1 else 8)[:, :n_lanes]
    other = y.coef.reshape(flat.shape[0], -1)[:, :n_lanes]
    np.testing.assert_allclose(squares, (flat**2).sum(axis=0) + z.biases**2, rtol=1e-5)
    np.testing.assert_allclose(
        products, (flat * other).sum(axis=0) + z.biases * y.biases, rtol=1e-4, atol=1e-5
    )


def test_shrunk_rows_are_skipped():
    """They and their part in the coefficients stay as they are; others may be shrunk, and move."""
    codes = np.zeros((3, 4), np.uint8)
    rows = packed_rows(codes, None, np.full(3, 0.5, np.float32), None)
    targets = np.array([[1], [1], [-1]], np.int8)
    problem = problem_of("hinge", targets)
    solution = descent.Solution(np.zeros((3, 1)), np.zeros((2, 4), np.float32), np.zeros(1))
    limits, sums = np.empty(1), np.empty((2, 1))

    def moves(shrunk):
        unlimited = read_only(np.array([np.inf]))
        active = descent.Active(read_only(np.ones(1, np.bool_)), unlimited, shrunk)
        order = read_only(np.arange(3))
        return descent.sweep(rows, order, problem, active, solution, *lanes(), limits, sums)

    assert not moves(np.ones(3, np.uint8))
    assert not solution.coef.any()
    assert moves(np.zeros(3, np.uint8))
    assert solution.duals[0] == 1
    assert solution.duals[2] == -1


def test_rows_beyond_the_limits_are_shrunk():
    """A row whose margin exceeds 1 by more than the limit of the sweep before is skipped next."""
    rows = packed_rows(np.zeros((2, 1), np.uint8), None, np.ones(2, np.float32), None)
    targets = np.array([[1], [-1]], np.int8)
    problem = problem_of("squared_hinge", targets)
    coef = np.full((1, 1), 3, np.float32)  # scores of 3: slopes 2 and 4
    solution = descent.Solution(np.zeros((2, 1)), coef, np.zeros(1))
    limits, sums = np.empty(1), np.empty((2, 1))
    for highest, expected in [(2.5, [0, 0]), (1.5, [1, 0])]:
        solution.duals[:], coef[:] = 0, 3
        shrunk = np.zeros(2, np.uint8)
        bounds = read_only(np.array([highest]))
        active = descent.Active(read_only(np.ones(1, np.bool_)), bounds, shrunk)
        order = read_only(np.arange(2))
        assert descent.sweep(rows, order, problem, active, solution, *lanes(), limits, sums)
        assert shrunk.tolist() == expected
        assert limits.tolist() == [4]


def test_codes_in_use():
    goal, out = np.zeros((3, 2, 8), np.float32), np.zeros((3, 2, 8), np.float32)
    goal[1, 1, 7], out[2, 0, 0] = 4, 4
    assert codes_in_use(goal).tolist() == [False, True, False]
    assert codes_in_use(goal, out).tolist() == [False, True, True]


@pytest.mark.parametrize("n_lanes", [1, 3])
def test_inner_products(n_lanes):
    rng = np.random.default_rng(3)
    first, second = (zero_coef(4, 70, n_lanes) for _ in range(2))
    for coef in (first, second):
        coef[1:3] = rng.normal(size=coef[1:3].shape)
    x, y = (p.reshape(4, 70, -1)[..., :n_lanes].astype(float) for p in (first, second))
    np.testing.assert_allclose(inner_products(first, second, n_lanes), (x * y).sum((0, 1)))


@each_kind_and("loss", "squared_hinge", "squared_error")
@pytest.mark.parametrize("n_lanes", [1, 2])
def test_extrapolated_start_is_consistent_and_better(rows, loss, n_lanes):
    """Planes stay the sum of the rows; the dual value is no worse than if nothing moved."""
    codes = rows[0]
    features = np.column_stack([expand(*rows).reshape(9, -1), np.full(9, 0.8)])
    data = pack(*rows)
    targets = np.random.default_rng(2).choice([-1, 1], (9, n_lanes)).astype(TARGET_TYPES[loss])
    state, before = (training.zero_solution(data, n_lanes) for _ in range(2))
    for C in (0.1, 0.2, 0.4):
        costs = np.full((2, n_lanes), C)
        block = Block(
            LOSSES[loss], np.arange(9), read_only(targets), read_only(np.ones(9)), costs, 0.8
        )
        now, then = state.duals.copy(), before.duals.copy()
        extrapolate(block, state, before)
        np.testing.assert_array_equal(before.duals, now)
        for lane in range(n_lanes):
            y, a = targets[:, lane].astype(float), state.duals[:, lane]
            w, sign = features.T @ a, 1 if loss == "squared_error" else y
            coef = state.coef.reshape(6, codes.shape[1], -1)[..., lane]
            np.testing.assert_allclose(coef.reshape(-1), w[:-1], atol=1e-5)
            assert state.biases[lane] == pytest.approx(w[-1])
            for f, g in [(1, 0), (1.1, 0), (2, 0), (2, -1), (1, 0.1)]:
                other = f * now[:, lane] + g * then[:, lane]
                value = objectives.dual(loss, features.T @ other, y, C, sign * other)
                assert objectives.dual(loss, w, y, C, sign * a) >= value - 1e-6
        training.descend(data, block, state, OPTIONS)


def test_states_are_copied(rows):
    state, copy = (training.zero_solution(pack(*rows), 2) for _ in range(2))
    state.coef[1], copy.coef[2] = 5, 7
    _copy(state, copy)
    np.testing.assert_array_equal(copy.coef, state.coef)


def test_paired_blocks_score_as_two_blocks_do(rows):
    codes, weights, lengths = rows
    rng = np.random.default_rng(3)
    coef, others = rng.normal(size=(2, 6, codes.shape[1], vectors.LANES)).astype(np.float32)
    coef[5] = others[5] = 0
    both = side_by_side(coef, others)
    X = expand(codes, weights, lengths).reshape(len(codes), -1)
    exact = np.hstack([X @ block.reshape(-1, vectors.LANES) for block in (coef, others)])
    out = np.empty((len(codes), 2 * vectors.LANES))
    scoring.score_rows(
        *pack(*rows).rows(), read_only(np.arange(len(codes))), both,
        both.reshape(-1)[vectors.LANES :], vectors.LANES, read_only(np.zeros(2 * vectors.LANES)),
        out,
    )  # fmt: skip
    np.testing.assert_allclose(out, exact, atol=1e-5)


def test_more_than_two_to_the_31_slots(tmp_path):
    """Files with holes are as long as they say: rows and coefficients lie beyond 2^31 elements."""
    n, k, far = 2**20 + 3, 2051, 2**20 + 1
    codes = np.memmap(tmp_path / "codes", np.uint8, "w+", shape=(n, k))
    weights = np.memmap(tmp_path / "weights", np.float16, "w+", shape=(n, k))
    rng = np.random.default_rng(0)
    codes[far], weights[far] = rng.integers(0, 256, k), rng.normal(size=k)
    assert far * k > 2**31
    near = np.zeros((256, k, 8), np.float32)
    halves, buffer = weights.view(np.uint16), np.empty(k, np.float32)
    rows = packed_rows(codes, halves, np.ones(n, np.float32), buffer)
    problem = problem_of("squared_hinge", np.ones((n, 2), np.int8))
    limits = read_only(np.array([np.inf] * 2))
    active = descent.Active(read_only(np.ones(2, np.bool_)), limits, np.zeros(n, np.uint8))
    solution = descent.Solution(np.zeros((n, 2)), near, np.zeros(2))
    outputs = *lanes(), np.empty(2), np.empty((2, 2))
    one_row = read_only(np.array([far]))
    assert descent.sweep(rows, one_row, problem, active, solution, *outputs)
    expected = weights[far] * np.float32(solution.duals[far, 0])
    np.testing.assert_allclose(near[codes[far], np.arange(k), 0], expected, rtol=1e-5)
    out = np.empty((1, 2))
    scoring.score_rows(*rows, one_row, read_only(near), None, 2, read_only(np.zeros(2)), out)
    assert out[0, 0] == pytest.approx(float(weights[far].astype(float) @ expected), rel=1e-4)

    coef = np.memmap(tmp_path / "coef", np.float32, "w+", shape=(2**16, 4100, 8))
    assert coef[-1].size * (2**16 - 1) > 2**31
    last = np.full((1, 4100), 2**16 - 1, np.uint16)
    steps = np.arange(8, dtype=np.float32)
    scoring.add_row(read_only(last), None, 0, None, 0, steps, coef)
    np.testing.assert_array_equal(coef[-1], np.tile(steps, (4100, 1)))
    out, one = np.empty((1, 8)), np.ones(1, np.float32)
    rows = packed_rows(last, None, one, None)
    first = read_only(np.array([0]))
    scoring.score_rows(*rows, first, read_only(coef), None, 8, read_only(np.zeros(8)), out)
    np.testing.assert_array_equal(out[0], 4100 * steps)
