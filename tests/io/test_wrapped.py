"""A range of rows is what a slice of the whole file is, in every format and any batches."""

import numpy as np
import pytest
from scipy import sparse

from corekernels import io
from corekernels.errors import DataError
from corekernels.io import Origin
from corekernels.io.readers import Selected

NAMES = ("rows.svm", "rows.svm.gz", "rows.npz", "rows.npy", "rows.parquet")
N_ROWS = 57


@pytest.fixture(params=NAMES)
def rows(request, tmp_path):
    """A file in several row groups, its matrix and its labels."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((N_ROWS, 9), density=0.4, format="csr", rng=rng)
    y = None if request.param == "rows.npy" else rng.integers(0, 3, N_ROWS)
    path = tmp_path / request.param
    with io.RowWriter(path) as writer:
        for start in range(0, N_ROWS, 10):
            some = slice(start, start + 10)
            writer.write(X[some], None if y is None else y[some])
    return path, X.toarray(), y


@pytest.mark.parametrize("batch_bytes", [64, 1 << 20])
@pytest.mark.parametrize(("first", "n"), [(0, 57), (0, 1), (10, 10), (13, 30), (56, 1), (5, 0)])
def test_a_range_is_a_slice(rows, first, n, batch_bytes):
    path, X, y = rows
    reader = io.open_rows(path, batch_bytes=batch_bytes)
    found = Selected(reader, first, n)
    batches = list(found)
    assert [batch.first_row for batch in batches] == np.cumsum(
        [0, *map(len, batches)][: len(batches)]
    ).tolist()
    got = np.concatenate([np.empty((0, 9)), *(batch.X.toarray() for batch in batches)])
    np.testing.assert_array_equal(got, X[first : first + n])
    if y is not None and n:
        labels = np.concatenate([batch.y for batch in batches])
        np.testing.assert_array_equal(labels, y[first : first + n])
    one_based = True if "svm" in path.name else None
    assert found.origin(2, 3) == Origin(path.name, first + 2, 3, one_based)


def test_a_file_that_has_become_shorter_is_refused(rows):
    path, _, _ = rows
    with pytest.raises(DataError, match="has 57 rows where 60 were counted before"):
        list(Selected(io.open_rows(path), 50, 10))


def test_text_before_a_range_is_not_read(tmp_path):
    path = tmp_path / "rows.svm"
    lines = [f"{row % 3} {1 + row % 9}:{row + 1}\n" for row in range(1000)]
    path.write_text("".join(lines))
    scanned = io.open_rows(path, batch_bytes=256)
    assert len(scanned.block_starts) > 20
    path.write_text("!" * 5000 + "".join(lines)[5000:])  # what stands before is not looked at
    reader = io.open_rows(path, batch_bytes=256, n_columns=9, one_based=True)
    reader.block_starts = scanned.block_starts
    (batch,) = Selected(reader, 990, 5)
    assert batch.X.max(axis=1).toarray().tolist() == [991, 992, 993, 994, 995]
    broken = [*lines[:992], "1 2:x\n", *lines[993:]]
    path.write_text("".join(broken))
    reader = io.open_rows(path, batch_bytes=256, n_columns=9, one_based=True)
    reader.block_starts = scanned.block_starts
    with pytest.raises(DataError, match="line 993 "):
        list(Selected(reader, 990, 5))


@pytest.mark.parametrize("text", ["\ufeff1 1:2\n0 1:3", "1 1:2\n# words\n\n0 1:3"])
def test_odd_beginnings_and_ends(tmp_path, text):
    path = tmp_path / "rows.svm"
    path.write_text(text)
    reader = io.open_rows(path, batch_bytes=8)
    (batch,) = Selected(reader, 1, 1)
    assert (batch.X.toarray().tolist(), batch.y.tolist()) == ([[3.0]], [0])
