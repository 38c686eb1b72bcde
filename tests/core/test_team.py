"""Threads that take blocks from a shared counter: every block once, errors, interrupts."""

import numpy as np
import pytest

from corekernels._core.team import Team, _take_all
from corekernels._loops.rows import taken


def count(blocks, n_blocks, out):
    for start, stop in taken(blocks, n_blocks):
        out[start:stop] += 1


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
@pytest.mark.parametrize(("n_rows", "block_rows"), [(0, 4), (1, 4), (4, 4), (1001, 3)])
def test_every_row_is_done_once(n_jobs, n_rows, block_rows):
    out = np.zeros(n_rows, np.int64)
    team = Team(n_jobs)
    for _ in range(3):
        team.run(count, (out,), n_rows, block_rows)
    assert (out == 3).all()


def test_each_thread_gets_arguments_of_its_own():
    given = []

    def arguments():
        given.append(np.zeros(100, np.int64))
        return (given[-1],)

    team = Team(4)
    team.run(count, arguments, 100, 1)
    assert len(given) == 4
    assert (sum(given) == 1).all()
    team.run(count, arguments, 2, 1)
    assert len(given) == 4 + 2


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_no_block_is_begun_after_an_error(error):
    begun = []

    def fail(blocks, n_blocks):
        for start, _ in taken(blocks, n_blocks):
            begun.append(start)
            raise error("here")

    team = Team(2)
    with pytest.raises(error, match="here"):
        team.run(fail, (), 1000, 1)
    assert len(begun) <= 2
    out = np.zeros(5, np.int64)
    team.run(count, (out,), 5, 2)  # the team is still of use
    assert out.tolist() == [1] * 5


def test_any_number_of_short_calls():
    """Blocks per call double while calls are short; they still fit an integer of the loops."""
    asked = []

    def step(n_blocks):
        asked.append(np.int64(n_blocks))
        return len(asked) < 200

    _take_all(step)
    assert len(asked) == 200
