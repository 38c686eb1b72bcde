"""Rows kept on the disk: the same as those of the reader, which is read once."""

import numpy as np
import pytest
from scipy import sparse

from corekernels._core.validation import are_clean
from corekernels.errors import DataError, FileError
from corekernels.io.workspace import KeptRows, Workspace
from support.readers import Rows


class Counted(Rows):
    """A reader that counts how often it is read to the end."""

    n_readings = 0

    def batches(self, first_row=0):
        yield from super().batches()
        self.n_readings += 1


@pytest.fixture(params=["values", "ones", "no rows", "empty rows"])
def X(request):
    X = sparse.random_array((100, 2**40), density=1e-11, format="csr", rng=0)
    if request.param == "ones":
        X.data[:] = 1
    if request.param == "no rows":
        return X[:0]
    return X if request.param != "empty rows" else sparse.csr_array((7, 5))


def test_rows_come_again_without_the_reader(X, tmp_path):
    reader = Counted(X, size=13)
    work = Workspace(tmp_path)
    kept = KeptRows(reader, work)
    first = list(kept)
    for _ in range(2):
        again = list(kept)
        assert len(again) == len(first)
        for one, other in zip(first, again, strict=True):
            assert (one.first_row, one.bytes_done) == (other.first_row, other.bytes_done)
            for name in ("indptr", "indices", "data"):
                a, b = getattr(one.X, name), getattr(other.X, name)
                np.testing.assert_array_equal(a, b)
            assert one.X.data.dtype == other.X.data.dtype
    assert reader.n_readings == 1
    work.close()
    assert not list(tmp_path.iterdir())


def test_a_reading_that_was_broken_off_goes_on(tmp_path):
    X = sparse.csr_array(np.arange(1, 41.0).reshape(20, 2))
    reader = Counted(X, size=3)
    work = Workspace(tmp_path)
    kept = KeptRows(reader, work)
    next(iter(kept))
    for _ in range(2):
        assert abs(sparse.vstack([batch.X for batch in kept]) - X).nnz == 0
    assert reader.n_readings == 1
    work.close()


def test_damage_is_told_or_harmless(tmp_path):
    """Rows that are said to be clean are used without another look."""
    X = sparse.csr_array(np.arange(1.0, 7).reshape(3, 2))
    path, n_refused = tmp_path / "work" / "rows", 0

    def keep(resume):
        with Workspace.lasting(tmp_path / "work", {}, resume) as work:
            rows = [batch.rows for batch in KeptRows(Rows(X), work)]
            work.checkpoint(now=True)
            return rows

    keep(False)
    data = path.read_bytes()
    for place in range(0, len(data), 4):
        for wrong in (-1, 3, 2**30):
            path.write_bytes(data[:place] + np.int32(wrong).tobytes() + data[place + 4 :])
            try:
                [rows] = keep(True)
            except (DataError, FileError):
                n_refused += 1
            else:
                assert are_clean(rows)
    assert n_refused > 40


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(FileError, match="rows cannot be kept there"):
        KeptRows(Rows(sparse.csr_array((1, 2))), Workspace(tmp_path / "nowhere"))
