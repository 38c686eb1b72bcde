"""The learning loops on small inputs: also run with NUMBA_DISABLE_JIT=1, as plain Python."""

import numpy as np
import pytest

from corekernels._loops.learning import descent, losses, packed
from corekernels._loops.learning import planes as blocks
from corekernels._loops.simd import vectors
from corekernels.linear import descent as training
from corekernels.linear import extrapolation as warm
from corekernels.linear import planes as packing

LOSSES = [losses.SQUARED_HINGE, losses.HINGE, losses.LOG, losses.SQUARED]


@pytest.fixture(params=[(7, np.uint8, True), (8, np.uint16, True), (5, np.uint8, False)])
def rows(request):
    """Codes, weights (bits of halves), lengths of 9 rows over 6 codes; row 4 is empty."""
    k, dtype, weighted = request.param
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (9, k)).astype(dtype)
    weights = rng.normal(size=(9, k)).astype(np.float16).view(np.uint16)
    lengths = rng.integers(1, 5, 9)
    codes[4], weights[4], lengths[4] = 0, 0, 0
    return codes, (weights if weighted else None), lengths


def expand(codes, weights, lengths, n_codes=6):
    """The design matrix, densely: (row, code, slot)."""
    X = np.zeros((len(codes), n_codes, codes.shape[1]))
    for i, row in enumerate(codes):
        values = np.ones(len(row)) if weights is None else weights[i].view(np.float16).astype(float)
        X[i, row, np.arange(len(row))] = values * (lengths[i] > 0)
        X[i] /= np.sqrt((X[i] ** 2).sum()) or 1
    return X


def room_for(weights):
    return None if weights is None else np.empty(weights.shape[1], np.float32)


def scales_of(codes, weights, lengths):
    scales = np.empty(len(codes), np.float32)
    packed.row_scales(weights, lengths, codes.shape[1], scales)
    return scales


def test_lanes():
    x, y, z = (np.arange(8, dtype=np.float32) + shift for shift in (0, 1, 2))
    out = np.zeros((3, 8), np.float32)
    vectors.store(vectors.multiply_add(x, y, z), 8, out)
    np.testing.assert_array_equal(out, [np.zeros(8), x * y + z, np.zeros(8)])
    np.testing.assert_array_equal(vectors.load(out, 8), vectors.add(vectors.splat(0), out[1]))


@pytest.mark.parametrize("n_planes", [1, 3])
def test_scores_and_additions(rows, n_planes):
    codes, weights, _ = rows
    X, scales = expand(*rows), scales_of(*rows)
    rng = np.random.default_rng(1)
    planes = packing.new_planes(6, codes.shape[1], n_planes)
    planes[...] = rng.normal(size=planes.shape)
    dense = planes.reshape(6, codes.shape[1], -1)[..., :n_planes].astype(float)
    intercepts = rng.normal(size=n_planes)
    which = np.array([8, 4, 0])
    out = np.empty((3, n_planes))
    data = codes, weights, scales, which, room_for(weights)
    packed.score_rows(*data, planes, None, n_planes, intercepts, out)
    expected = np.einsum("ncj,cjp->np", X[which], dense) + intercepts
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)

    steps = np.zeros(8, np.float32)
    steps[:n_planes] = rng.normal(size=n_planes)
    numbers = None if weights is None else weights[2].view(np.float16).astype(np.float32)
    packed.add_row(codes, weights, 2, numbers, 5, steps * scales[2], planes)
    found = planes.reshape(6, codes.shape[1], -1)[..., :n_planes]
    np.testing.assert_allclose(found, dense + X[2][..., None] * steps[:n_planes], atol=1e-5)


def test_scales_of_long_rows():
    weights = np.random.default_rng(0).lognormal(sigma=2, size=(3, 1203)).astype(np.float16)
    scales = scales_of(weights, weights.view(np.uint16), np.ones(3, int))
    expected = 1 / np.sqrt((weights.astype(float) ** 2).sum(axis=1))
    np.testing.assert_allclose(scales, expected, rtol=1e-6)


def test_digests_tell_rows_apart(rows):
    codes, weights, lengths = rows
    out = np.empty(len(codes), np.uint64)
    some = None if weights is None else weights[3:5]
    with np.errstate(over="ignore"):
        packed.row_digests(codes, weights, lengths, out)
        again = np.empty(2, np.uint64)
        packed.row_digests(codes[3:5], some, lengths[3:5], again)
    assert len(np.unique(out)) == len(out)
    np.testing.assert_array_equal(again, out[3:5])


@pytest.mark.parametrize("loss", LOSSES)
def test_gap_is_zero_exactly_at_the_dual_of_the_margin(loss):
    for m in (-2.0, 0.3, 0.999, 1.7):
        c, step = 0.7, 1e-6
        slope = (losses.loss_value(loss, m + step, c) - losses.loss_value(loss, m - step, c)) / (
            2 * step
        )
        assert losses.row_gap(loss, m, c, -slope) == pytest.approx(0, abs=1e-8)
        assert losses.row_gap(loss, m, c, 0.5 * c + 0.1 * slope) > 1e-4


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("square", [0.0, 1.0, 2.0])
def test_step_finds_the_best_dual(loss, square):
    """Against a fine grid of the one-variable problem."""
    for m, c, a in [(-3.0, 0.5, 0.2), (0.9, 10.0, 3.0), (4.0, 2.0, 1.0), (0.0, 1.0, 0.0)]:
        high = c if loss in (losses.HINGE, losses.LOG) else 40.0
        low = -40.0 if loss == losses.SQUARED else 0.0
        grid = np.linspace(low, high, 20001)
        grid = grid[1:-1] if loss == losses.LOG else grid
        conjugate = [losses.row_gap(loss, 5.0, c, b) - 5.0 * b for b in grid]  # up to a constant
        values = 0.5 * square * (grid - a) ** 2 + m * grid + conjugate
        best = losses.best_dual(loss, m, c, a, square)
        assert best == pytest.approx(grid[values.argmin()], abs=2 * (high - low) / 20000)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log_loss", "squared_error"])
@pytest.mark.parametrize("n_lanes", [1, 2])
def test_descent_closes_the_gap(rows, loss, n_lanes):
    codes, weights, lengths = rows
    X = expand(*rows).reshape(9, -1)
    data = packing.Packed(codes, weights, scales_of(*rows), lengths, 6)
    rng = np.random.default_rng(2)
    targets = rng.choice([-1, 1], (9, n_lanes)).astype(np.int8)
    row_costs = rng.uniform(0.5, 2, 9)
    costs = np.array([[0.5] * n_lanes, [1.5] * n_lanes])
    which = np.array([0, 1, 2, 4, 5, 7, 8])
    block = training.Block(loss, which, targets, row_costs, costs, 0.8)
    state = training.State.zero(data, n_lanes)
    outcome = training.descend(data, block, state, tol=1e-5, max_iter=300, seed=0)
    assert outcome.converged
    assert not state.duals[[3, 6]].any()
    for lane in range(n_lanes):
        y, a = targets[which, lane].astype(float), state.duals[which, lane]
        c = row_costs[which] * np.where(y > 0, 1.5, 0.5)
        features = np.column_stack([X[which], np.full(len(which), 0.8)])
        sign = np.ones(len(y)) if loss == "squared_error" else y
        w = features.T @ (sign * a)
        planes = state.planes.reshape(6, codes.shape[1], -1)[..., lane]
        np.testing.assert_allclose(planes.reshape(-1), w[:-1], atol=1e-5)
        primal = 0.5 * w @ w + value(loss, features @ w, y, c).sum()
        dual = dual_value(loss, w, y, c, a)
        assert primal - dual <= 1.1e-5 * primal
        assert outcome.objectives[lane] == pytest.approx(primal, rel=1e-5)


def value(loss, f, y, c):
    short = np.maximum(0, 1 - y * f)
    return (
        c
        * {
            "squared_hinge": short**2,
            "hinge": short,
            "log_loss": np.logaddexp(0, -y * f),
            "squared_error": (y - f) ** 2,
        }[loss]
    )


def dual_value(loss, w, y, c, a):
    if loss == "log_loss":
        entropy = a * np.log(a / c) + (c - a) * np.log1p(-a / c)
        return -0.5 * w @ w - entropy.sum()
    linear = (y * a if loss == "squared_error" else a).sum()
    squares = 0 if loss == "hinge" else (a**2 / (4 * c)).sum()
    return linear - squares - 0.5 * w @ w


def test_rows_at_rest_are_woken_before_the_end():
    """A sweep that passes over resting rows leaves them, and their planes, as they are."""
    codes = np.zeros((3, 4), np.uint8)
    planes, biases, duals = np.zeros((2, 4), np.float32), np.zeros(1), np.zeros((3, 1))
    arguments = (
        losses.HINGE, codes, None, None, np.full(3, 0.5, np.float32), np.arange(3),
        np.array([[1], [1], [-1]], np.int8), np.ones(3), np.ones((2, 1)), 0.0,
        np.ones(1, np.bool_), np.array([[-np.inf], [np.inf]]),
    )  # fmt: skip
    outputs = np.empty((2, 1)), np.empty(1), np.empty(1)
    asleep = np.ones(3, np.uint8)
    assert not descent.sweep(*arguments, asleep, duals, planes, biases, *outputs)
    assert not planes.any()
    assert descent.sweep(*arguments, np.zeros(3, np.uint8), duals, planes, biases, *outputs)
    assert duals[0] == duals[2] == 1


def test_move_towards():
    goal, out = np.zeros((3, 2, 8), np.float32), np.zeros((3, 2, 8), np.float32)
    goal[1], out[2] = 4, 4
    blocks.move_towards(goal, np.float32(0.25), out)
    np.testing.assert_array_equal(out[:, 0, 0], [0, 1, 3])


@pytest.mark.parametrize("n_planes", [1, 3])
def test_planes_are_multiplied_and_mixed(n_planes):
    rng = np.random.default_rng(3)
    first, second = (packing.new_planes(4, 70, n_planes) for _ in range(2))
    for planes in (first, second):
        planes[1:3] = rng.normal(size=planes[1:3].shape)
    x, y = (p.reshape(4, 70, -1)[..., :n_planes].astype(float) for p in (first, second))
    out = np.empty((3, n_planes))
    blocks.plane_products(first, second, out)
    expected = [(x * x).sum((0, 1)), (x * y).sum((0, 1)), (y * y).sum((0, 1))]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4)

    factors = np.zeros((2, 8), np.float32)
    factors[:, :n_planes] = rng.normal(size=(2, n_planes))
    blocks.mix_planes(factors, first, second)
    f, g = factors[:, :n_planes]
    found = first.reshape(4, 70, -1)[..., :n_planes]
    np.testing.assert_allclose(found, f * x + g * y, atol=1e-5)
    np.testing.assert_array_equal(second.reshape(4, 70, -1)[..., :n_planes], x)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log_loss"])
@pytest.mark.parametrize("n_lanes", [1, 2])
def test_foreseen_start_is_consistent_and_better(rows, loss, n_lanes):
    """Planes stay the sum of the rows; the dual value is no worse than if nothing moved."""
    codes, weights, lengths = rows
    features = np.column_stack([expand(*rows).reshape(9, -1), np.full(9, 0.8)])
    data = packing.Packed(codes, weights, scales_of(*rows), lengths, 6)
    targets = np.random.default_rng(2).choice([-1, 1], (9, n_lanes)).astype(np.int8)
    state, before = (training.State.zero(data, n_lanes) for _ in range(2))
    for C in (0.1, 0.2, 0.4):
        costs = np.full((2, n_lanes), C)
        block = training.Block(loss, np.arange(9), targets, np.ones(9), costs, 0.8)
        now, then = state.duals.copy(), before.duals.copy()
        warm.foresee(block, state, before)
        np.testing.assert_array_equal(before.duals, now)
        for lane in range(n_lanes):
            y, a = targets[:, lane].astype(float), state.duals[:, lane]
            w = features.T @ (y * a)
            planes = state.planes.reshape(6, codes.shape[1], -1)[..., lane]
            np.testing.assert_allclose(planes.reshape(-1), w[:-1], atol=1e-5)
            assert state.biases[lane] == pytest.approx(w[-1])
            if loss == "log_loss":
                continue
            for f, g in [(1, 0), (1.1, 0), (2, 0), (2, -1), (1, 0.1)]:
                other = f * now[:, lane] + g * then[:, lane]
                if loss == "hinge" and (g or other.max() > C):
                    continue
                value = dual_value(loss, features.T @ (y * other), y, C, other)
                assert dual_value(loss, w, y, C, a) >= value - 1e-6
        training.descend(data, block, state, tol=1e-5, max_iter=300, seed=0)
        assert state.duals.min() >= 0


def test_planes_are_copied_where_either_holds_something():
    planes = np.zeros((4, 3, vectors.LANES), np.float32)
    out = np.zeros_like(planes)
    planes[1], out[2] = 5, 7
    blocks.copy_planes(planes, out)
    np.testing.assert_array_equal(out, planes)


def test_paired_planes_score_as_two_blocks_do(rows):
    codes, weights, lengths = rows
    rng = np.random.default_rng(3)
    planes, others = rng.normal(size=(2, 6, codes.shape[1], vectors.LANES)).astype(np.float32)
    planes[5] = others[5] = 0
    both = np.zeros((6, codes.shape[1], 2 * vectors.LANES), np.float32)
    blocks.pair_planes(planes, others, both)
    X = expand(codes, weights, lengths).reshape(len(codes), -1)
    exact = np.hstack([X @ block.reshape(-1, vectors.LANES) for block in (planes, others)])
    out = np.empty((len(codes), 2 * vectors.LANES))
    packed.score_rows(
        codes, weights, scales_of(codes, weights, lengths), np.arange(len(codes)),
        room_for(weights), both, both.reshape(-1)[vectors.LANES :], vectors.LANES,
        np.zeros(2 * vectors.LANES), out,
    )  # fmt: skip
    np.testing.assert_allclose(out, exact, atol=1e-5)
