"""The multipliers of the parts' changes are the best for the dual problem."""

import numpy as np
import pytest

from corekernels import CoREHasher
from corekernels.distributed import recombination
from corekernels.linear.coefficients import pack
from corekernels.linear.descent import OneVsRest, descend
from corekernels.linear.losses import LOSSES
from corekernels.linear.newton import Vector
from corekernels.linear.problem import Options, State, TrainingSet
from support import objectives

N_PARTS, N_ROWS = 3, 60


@pytest.fixture(scope="module", params=["squared_hinge", "hinge", "log_loss"])
def changes(request, digits):
    """A loss, blocks of rows, their dual variables and how sweeps on each part changed them."""
    X, y = digits
    loss = request.param
    S = CoREHasher(n_hashes=16, n_bits=3, random_state=0).fit(X).sketch(X[: N_PARTS * N_ROWS])
    w, found = None, []
    for number in range(N_PARTS):
        some = slice(number * N_ROWS, (number + 1) * N_ROWS)
        packed, targets = pack(S[some], 1), (y[some] % 3).astype(np.int64)
        training = TrainingSet.of(packed, targets, np.ones(N_ROWS), 1)
        (block,) = OneVsRest(LOSSES[loss], 1.0, np.array([1.0, 2, 1])).blocks(training, 1.0)
        w = w or Vector.zero(packed, block.n_lanes)
        duals = 0.1 * block.targets * np.random.default_rng(number).random((N_ROWS, block.n_lanes))
        state = State(duals.copy(), w.planes.copy(), w.biases.copy(), is_sum=False)
        descend(packed, block, state, Options(1e-9, 2, (number,)))
        found.append((S[some].to_csr().toarray(), block, duals, state))
    return loss, w, found


def rows_times(rows, block, duals):
    """The vector that dual variables stand for, one row per lane; the constant column last."""
    signed = duals[block.rows]
    return np.hstack([signed.T @ rows[block.rows], signed.sum(axis=0)[:, None]])


def dual(loss, found, multipliers, lane):
    """The dual problem's value, densely."""
    value, w = 0.0, 0.0
    for (rows, block, duals, state), t in zip(found, multipliers, strict=True):
        a = duals + t * (state.duals - duals)
        w = w + rows_times(rows, block, a)[lane]
        signs, a = block.targets[block.rows, lane], a[block.rows, lane]
        c = block.row_costs[block.rows] * block.costs[(signs > 0).astype(int), lane]
        value += objectives.dual(loss, np.zeros(1), signs, c, signs * a)
    return value - 0.5 * w @ w


def test_no_other_multipliers_are_better(changes):
    loss, w, found = changes
    # planes of the start: what the dual variables stand for, laid out as the changes are
    asked = []
    for _, block, duals, state in found:
        change = state.duals - duals
        asked.append(
            recombination.Change(
                state.planes - w.planes, state.biases - w.biases,
                recombination.conjugates(block, duals, change),
                recombination.largest_multipliers(block, duals, change),
            )
        )  # fmt: skip
    start = Vector(np.zeros_like(w.planes), np.zeros_like(w.biases))
    values = []
    for rows, block, duals, _ in found:
        values.append(rows_times(rows, block, duals))
    total = np.sum(values, axis=0)
    n_codes, n_hashes = w.planes.shape[:2]
    by_slot = total[:, :-1].reshape(-1, n_hashes, total.shape[1] // n_hashes)
    start.planes[..., : len(total)] = by_slot.transpose(2, 1, 0)[:n_codes]
    start.biases[:] = total[:, -1]
    best = recombination.best_multipliers(start, asked)
    limits = np.array([change.largest.values for change in asked])
    assert (best >= 0).all()
    assert (best <= limits).all()
    rng = np.random.default_rng(0)
    for lane in range(w.n_lanes):
        highest = dual(loss, found, best[:, lane], lane)
        ones = dual(loss, found, np.ones(N_PARTS), lane)
        # single precision of the vectors; a parabola in place of the entropy
        slack = (1e-5 if loss != "log_loss" else 1e-2) * max(1.0, abs(highest))
        assert highest >= ones - slack
        for _ in range(20):
            near = best[:, lane] + 0.1 * rng.normal(size=N_PARTS)
            other = dual(loss, found, np.clip(near, 0, limits[:, lane]), lane)
            assert highest >= other - slack
