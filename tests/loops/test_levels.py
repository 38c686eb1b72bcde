"""The loops of levels on small inputs: also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest

from corekernels._core.team import Team
from corekernels._loops import levels


def test_first_not_level():
    assert levels.first_not_level(np.array([1.0, 3, 0]), 0, 3) == -1
    assert levels.first_not_level(np.array([1.0, 4, -1]), 0, 3) == 1
    assert levels.first_not_level(np.array([1.0, 3, -1]), 0, 3) == 2
    assert levels.first_not_level(np.array([-3.0, 0.5]), -3, 3) == 1
    assert levels.first_not_level(np.array([np.nan]), 0, 3) == 0


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_levels_are_expanded_in_lines_and_one_by_one(index_type):
    indptr, indices = np.array([0, 2, 2, 4]), np.array([0, 2, 1, 2], np.int32)
    numbers = np.array([40, -3, 1, 20], np.int32)
    ends = np.zeros(4, np.int64)
    levels.count_levels(indptr, numbers, ends[1:])
    np.cumsum(ends, out=ends)
    assert ends.tolist() == [0, 43, 43, 64]
    columns, ones = np.empty(64, index_type), np.zeros(64)
    line = np.arange(64 // columns.itemsize, dtype=index_type)
    arguments = indptr, indices, numbers, 50, 2, line, ends, columns, ones
    Team(1).run(levels.expand_levels, arguments, 3, 2)
    assert columns[:43].tolist() == [*range(40), 250, 251, 252]
    assert columns[43:].tolist() == [100, *range(200, 220)]
    assert (ones == 1).all()
