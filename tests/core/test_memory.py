"""Working memory that is kept between calls."""

import numpy as np
import pytest

from corekernels._core import memory
from corekernels._core.memory import working_memory


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(memory, "_kept", {})
    monkeypatch.setattr(memory, "_n_made", 0)


def rooms_of(n_threads, make, *arguments):
    with working_memory(make, *arguments) as rooms:
        return [next(rooms) for _ in range(n_threads)]


def test_the_same_is_given_again():
    first = rooms_of(3, np.zeros, 5)
    assert len({id(room) for room in first}) == 3
    again = rooms_of(4, np.zeros, 5)
    assert {id(room) for room in first} < {id(room) for room in again}
    for other in (rooms_of(1, np.zeros, 6), rooms_of(1, np.zeros, 5, np.int32)):
        assert all(other[0] is not room for room in again)


def test_nobody_shares_it():
    with working_memory(np.zeros, 5) as outer, working_memory(np.zeros, 5) as inner:
        assert next(outer) is not next(inner)


def test_it_is_not_kept_after_an_error():
    def fail():
        with working_memory(np.zeros, 5) as rooms:
            next(rooms)[0] = 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert rooms_of(1, np.zeros, 5)[0].tolist() == [0] * 5


def test_it_does_not_grow_without_end():
    size = memory._MOST_KEPT // 8
    for _ in range(3):
        rooms_of(1, np.zeros, size)
    assert sum(map(len, memory._kept.values())) == 1
    rooms_of(2, np.zeros, size)
    assert not memory._kept
