"""The theory of hash tables against tables that were built."""

import numpy as np
import pytest
from scipy import sparse

from corekernels import theory
from corekernels._core.team import Team
from corekernels._core.validation import check_rows
from corekernels.errors import ParameterError
from corekernels.kernel_table import CORE1
from corekernels.neighbors.candidates.lsh import HashTables
from corekernels.neighbors.store import make_store

N_PAIRS = 1500


def pairs_of_rows(shared, alone, rho, seed=0):
    """Rows 2 i and 2 i + 1 share columns, have some of their own, and the cosine rho."""
    rng = np.random.default_rng(seed)
    length = shared + 2 * alone
    columns = np.array([rng.choice(3000, length, replace=False) for _ in range(N_PAIRS)])
    first, second = (
        columns[:, : shared + alone],
        np.delete(columns, np.s_[shared : shared + alone], 1),
    )
    values = rng.normal(size=(N_PAIRS, shared))
    other = rng.normal(size=(N_PAIRS, shared))
    values /= np.linalg.norm(values, axis=1)[:, None]
    other -= (other * values).sum(axis=1)[:, None] * values
    other /= np.linalg.norm(other, axis=1)[:, None]
    other = rho * values + np.sqrt(1 - rho**2) * other
    tiny = np.full((N_PAIRS, alone), 1e-9)
    data = np.stack([np.hstack([values, tiny]), np.hstack([other, tiny])], axis=1)
    indices = np.stack([first, second], axis=1)
    indptr = np.arange(2 * N_PAIRS + 1) * (shared + alone)
    shape = (2 * N_PAIRS, 3000)
    return sparse.csr_array((data.ravel(), indices.ravel(), indptr), shape=shape)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("m", "T"), [(3, 8), (6, 16)])
def test_rows_collide_as_often_as_expected(m, T, signed):
    rho = 0.9
    rows = check_rows(pairs_of_rows(80, 10, rho))
    tables = HashTables.build(
        make_store(rows, CORE1), 1, None, n_slots=m, n_tables=T, signed=signed, n_kept=1, seed=0
    )
    team = Team(None)
    numbers = tables.numbers(team, rows)
    collide = (numbers[::2] == numbers[1::2]).any(axis=1)
    p = theory.slot_collision(0.8, rho if signed else None)
    expected = 1 - theory.miss_rate(p, m, T)
    by_chance = T / (tables.tables.heads.shape[1] - 1)
    assert (
        abs(collide.mean() - expected)
        <= 5 * np.sqrt(expected * (1 - expected) / N_PAIRS) + by_chance
    )


def test_slots_follow_from_recall():
    for p in (0.3, 0.6, 0.9):
        m = theory.slots_allowed(p, 64, 0.95)
        assert 1 - theory.miss_rate(p, m, 64) >= 0.95 > 1 - theory.miss_rate(p, m + 1, 64)
    assert theory.miss_rate([0.5, 1.0], 2, 3) == pytest.approx((1 - 0.5**2) ** 3 / 2)
    assert theory.slots_allowed(0.01, 4, 0.95) == 0
    with pytest.raises(ParameterError, match="recall: got 1"):
        theory.slots_allowed(0.5, 3, 1)
    assert theory.sign_collision(-1.0) == pytest.approx(0)
