"""The loops over raw rows on small inputs: also run with NUMBA_DISABLE_JIT=1."""

import numpy as np

from corekernels._loops import rows


def test_inspect_rows_finds_each_flaw():
    indptr = np.array([0, 2, 4])

    def found(indices, data):
        return rows.inspect_rows(indptr, np.array(indices), np.array(data), 5)

    assert found([0, 1, 0, 4], [1.0, 2, 3, 4]) == 0
    assert found([1, 0, 0, 1], [1.0, 2, 3, 4]) == rows.DISORDER
    assert found([0, 1, 3, 3], [1.0, 2, 3, 4]) == rows.DISORDER
    assert found([0, 1, 0, 1], [1.0, 2, 0, 4]) == rows.ZERO
    assert found([0, 1, 0, 1], [1.0, 2, np.inf, 4]) == rows.NOT_FINITE
    assert found([0, 1, 0, 1], [np.nan, 2, 1, 4]) == rows.NOT_FINITE
    assert found([0, 1, 0, 5], [1.0, 2, 1, 4]) == rows.OUT_OF_RANGE
    assert found([-1, 1, 0, 4], [1.0, 2, 0, 4]) == rows.OUT_OF_RANGE | rows.ZERO
    assert rows.first_not_finite(indptr, np.array([1.0, 2, np.nan, 1])) == 1
    assert rows.first_not_finite(indptr, np.ones(4)) == -1
