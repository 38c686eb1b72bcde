"""Numbering of columns in threads: what `np.unique` gives."""

import numpy as np
import pytest

from corekernels.neighbors.store import number_columns

N = 300_000  # enough for four ranges


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize(
    "columns",
    [
        np.random.default_rng(0).integers(0, 1 << 62, N),
        np.random.default_rng(1).integers(0, 100_000, N).astype(np.int32),
        np.random.default_rng(2).geometric(0.3, N),  # a third of the columns are one
        np.full(N, 7),
        np.arange(N)[::-1],
        np.empty(0, np.int64),
    ],
    ids=["huge", "few", "skewed", "one", "descending", "none"],
)
def test_columns_are_numbered_as_np_unique_does(columns, n_jobs):
    words, numbers = number_columns(columns, n_jobs)
    expected_words, expected = np.unique(columns, return_inverse=True)
    assert words.dtype == columns.dtype
    np.testing.assert_array_equal(words, expected_words)
    np.testing.assert_array_equal(numbers, expected)
