"""Every format gives back the rows that went in, in any batches."""

import bz2
import gzip
import io as streams
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import corekernels as ck
from corekernels import io
from corekernels.errors import DataError, FileError, MissingExtra, ParameterError
from corekernels.io.formats import all_formats
from support.strategies import messy_csr, messy_pair

NAMES = (
    *(f"rows{entry.suffixes[0]}" for entry in all_formats() if entry.writer),
    "rows.svm.gz",
    "rows.svm.bz2",
)
LABELS = {
    "integers": [3, -1, 0, 7],
    "floats": [0.1, -2.0, 1e-300, 0.30000000000000004],
    "words": ["spam", "ham", "v1.0", "größe"],
    "none": None,
}
QUIET = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def tidy(X):
    X = sparse.csr_array(X).copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def assert_same_rows(X, Y):
    """Equal values, entry by entry, whatever the types."""
    X, Y = tidy(X), tidy(Y)
    assert X.shape == Y.shape
    np.testing.assert_array_equal(X.indptr, Y.indptr)
    np.testing.assert_array_equal(X.indices, Y.indices)
    np.testing.assert_array_equal(X.data, Y.data)


def write_batches(path, batches):
    with io.RowWriter(path) as writer:
        for X, y in batches:
            writer.write(X, y)


def example(n_rows=4, n_columns=9, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_rows, n_columns), density=0.4, format="csr", rng=rng)
    X.data *= rng.lognormal(sigma=20, size=X.nnz)
    return X


@pytest.mark.parametrize("name", NAMES)
@given(X=messy_csr(), batch=st.sampled_from([(None, 1), (None, 200), (3, 50), (1000, 8 << 20)]))
@QUIET
def test_round_trip(tmp_path, name, X, batch):
    path = tmp_path / name
    io.write_rows(path, X)
    sizes = {"batch_rows": batch[0], "batch_bytes": batch[1]}
    if "svm" in name:  # the text tells neither the width nor where columns count from
        sizes |= {"n_columns": X.shape[1], "one_based": True}
    Y, _ = io.read_rows(path, **sizes)
    assert_same_rows(X, Y)
    if "svm" not in name:
        assert Y.dtype == X.dtype
    assert isinstance(Y, sparse.csr_array)
    reader = io.open_rows(path, **sizes)
    row = done = 0
    for part in reader:
        assert part.first_row == row
        assert done <= part.bytes_done <= reader.n_bytes == path.stat().st_size
        assert part.X.shape[0] <= (batch[0] or 1000)
        row, done = row + part.X.shape[0], part.bytes_done
    assert row == X.shape[0]
    assert done == reader.n_bytes


@pytest.mark.parametrize("name", [name for name in NAMES if name != "rows.npy"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_come_back(tmp_path, name, labels):
    path, X = tmp_path / name, example()
    io.write_rows(path, X, labels)
    Y, y = io.read_rows(path, batch_rows=3, n_columns=9)
    assert_same_rows(X, Y)
    if labels is None:
        assert y.tolist() == [0] * 4 if "svm" in name else y is None
    else:
        assert y.tolist() == labels
        assert y.dtype.kind == np.asarray(labels).dtype.kind
    assert io.read_rows(path, labels=False, n_columns=9)[1] is None


@given(pair=messy_pair())
@QUIET
def test_any_container_is_written(tmp_path, pair):
    for X in pair:
        io.write_rows(tmp_path / "rows.npz", X)
        assert_same_rows(io.read_rows(tmp_path / "rows.npz")[0], X)


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_convert_batch_by_batch(tmp_path, source, target):
    X = example(200, 30)
    y = None if "npy" in source + target else np.arange(200) % 7
    io.write_rows(tmp_path / source, X, y)
    with io.RowWriter(tmp_path / ("new-" + target)) as writer:
        for batch in io.open_rows(tmp_path / source, batch_rows=33, labels=y is not None):
            writer.write(batch.X, batch.y)
    Y, z = io.read_rows(tmp_path / ("new-" + target))
    assert_same_rows(X, Y)
    if y is not None:
        np.testing.assert_array_equal(z, y)
    assert sorted(os.listdir(tmp_path)) == sorted([source, "new-" + target])


@pytest.mark.parametrize("name", NAMES)
def test_equal_rows_make_equal_bytes(tmp_path, name):
    paths = [tmp_path / "one" / name, tmp_path / "two" / name]
    for path in paths:
        path.parent.mkdir()
        io.write_rows(path, example())
        os.utime(path, (0, 0))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_scipy_and_numpy_read_what_we_write_and_we_read_theirs(tmp_path):
    X = example()
    io.write_rows(tmp_path / "a.npz", X, [1, 2, 3, 4])
    assert_same_rows(sparse.load_npz(tmp_path / "a.npz"), X)
    io.write_rows(tmp_path / "a.npy", X)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), X.toarray())
    for compressed in (True, False):
        sparse.save_npz(tmp_path / "b.npz", sparse.csr_matrix(X), compressed=compressed)
        assert_same_rows(io.read_rows(tmp_path / "b.npz")[0], X)
    for order in "CF":
        np.save(tmp_path / "b.npy", np.asarray(X.toarray(), order=order))
        assert_same_rows(io.read_rows(tmp_path / "b.npy", batch_bytes=100)[0], X)


@pytest.mark.parametrize("dtype", ["float16", ">f4", "<f8", "int8", ">i4", "uint64", "bool"])
@pytest.mark.parametrize("name", ["rows.npz", "rows.npy"])
def test_numbers_of_every_type(tmp_path, name, dtype):
    X = np.array([[0, 1], [1, 0], [0, 0]], dtype)
    if name == "rows.npy":
        np.save(tmp_path / name, X)
    else:
        S = sparse.csr_array(X.astype(np.float64))
        np.savez(
            tmp_path / name, format="csr", shape=S.shape, data=S.data.astype(dtype),
            indices=S.indices, indptr=S.indptr, labels=np.array([b"a", b"b", b"a"]),
        )  # fmt: skip
        assert io.read_rows(tmp_path / name)[1].tolist() == ["a", "b", "a"]
    Y, _ = io.read_rows(tmp_path / name)
    assert Y.dtype == (np.float32 if dtype in ("float16", ">f4") else np.float64)
    np.testing.assert_array_equal(Y.toarray(), X)


@pytest.mark.parametrize("name", ["rows.npz", "rows.npy"])
def test_no_rows_at_all(tmp_path, name):
    io.write_rows(tmp_path / name, sparse.csr_array((0, 5)))
    X, y = io.read_rows(tmp_path / name)
    assert X.shape == (0, 5)
    assert y is None


@pytest.mark.parametrize("name", NAMES)
def test_detect_by_content(tmp_path, name):
    kind = "svmlight" if "svm" in name else name.split(".")[-1]
    io.write_rows(tmp_path / name, example())
    (tmp_path / name).rename(tmp_path / "nameless")
    assert io.detect(tmp_path / "nameless") == kind
    assert io.open_rows(tmp_path / "nameless").format == kind


def test_detect_our_own_files(tmp_path):
    X = example(20).toarray()
    model = ck.CoREClassifier(n_hashes=8, random_state=0).fit(X, np.arange(20) % 2)
    model.save(tmp_path / "model")
    folder = tmp_path / "shards"
    folder.mkdir()
    with pytest.raises(FileError, match="folder without part-"):
        io.detect(folder)
    model.sketch(X).save(folder / "part-00000.safetensors")
    assert io.detect(folder) == "signatures"
    assert io.detect(folder / "part-00000.safetensors") == "signatures"
    assert io.detect(tmp_path / "model") == "model"
    for path, kind in ((tmp_path / "model", "model"), (folder, "signatures")):
        with pytest.raises(FileError, match=f"holds {kind}, not rows"):
            io.open_rows(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_standard_input(monkeypatch, pack):
    class Input:
        buffer = streams.BytesIO(pack(b"1 1:2 3:4\n-1 2:5\n"))

    monkeypatch.setattr(sys, "stdin", Input)
    reader = io.open_rows("-", n_columns=3)
    assert (reader.name, reader.n_bytes, reader.n_rows) == ("standard input", None, None)
    (batch,) = reader
    assert batch.X.toarray().tolist() == [[2, 0, 4], [0, 5, 0]]
    assert batch.y.tolist() == [1, -1]
    assert batch.y.dtype == np.int64
    with pytest.raises(FileError, match="was read before and is gone"):
        list(reader)


def test_standard_input_is_told_its_columns():
    with pytest.raises(FileError, match=r"standard input: can be read only once.*pass n_columns"):
        io.open_rows("-")
    with pytest.raises(FileError, match="only svmlight text can be read from a pipe"):
        io.open_rows("-", format="npz", n_columns=3)


def test_a_named_pipe_is_a_stream(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", f"printf '1 2:3\\n' > {tmp_path / 'pipe'}"])
    X, _ = io.read_rows(tmp_path / "pipe", n_columns=4)
    writer.wait()
    assert X.toarray().tolist() == [[0, 3, 0, 0]]
    with pytest.raises(FileError, match="is a pipe"):
        io.detect(tmp_path / "pipe")


@pytest.mark.parametrize("command", ["head -c 10", "true"])
def test_standard_output_and_its_broken_pipe(command):
    code = (
        "from corekernels import io, errors; import os, sys\n"
        "try:\n"
        "    with io.RowWriter('-') as writer:\n"
        "        for _ in range(300): writer.write([[1.0, 2.5]] * 1000, [1] * 1000)\n"
        "except errors.FileError as error:\n"
        "    print(error, file=sys.stderr); sys.stderr.flush(); os._exit(2)\n"
    )
    run = subprocess.run(
        f'{sys.executable} -c "$CODE" | {command}', shell=True, capture_output=True, text=True,
        env={**os.environ, "CODE": code}, check=False,
    )  # fmt: skip
    assert run.stdout in ("1 1:1 2:2.", "")
    assert run.stderr == "standard output: cannot be written (Broken pipe).\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_leaves_the_old_file(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"old")
    with pytest.raises(DataError, match="row 1 contains NaN"):
        io.write_rows(path, [[1.0], [np.nan]])
    with pytest.raises(ZeroDivisionError):
        write_batches(path, (([[1.0 / left]], None) for left in (1, 0)))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [name]


def test_a_full_disk(tmp_path):
    """The system's limit on file size fails a write just as a full disk does."""
    for name in NAMES:
        (tmp_path / name).write_bytes(b"old")
    code = (
        "import resource, signal, numpy as np; from corekernels import errors, io\n"
        "X = np.random.default_rng(0).normal(size=(5000, 20))\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, 90_000))\n"
        f"for name in {NAMES}:\n"
        "    try: io.write_rows(name, X)\n"
        "    except errors.FileError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert run.stderr == ""
    for name, message in zip(NAMES, run.stdout.splitlines(), strict=True):
        assert message.startswith(f"{name}: cannot be written (")
        assert message.endswith("what stood there before is unchanged.")
        assert (tmp_path / name).read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)


def test_targets_that_cannot_be(tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        io.write_rows(tmp_path / "missing" / "rows.npz", [[1.0]])
    (tmp_path / "rows.npz").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        io.write_rows(tmp_path / "rows.npz", [[1.0]])
    for name in ("rows", "rows.xls", "rows.npz.gz"):
        with pytest.raises(ParameterError, match="does not tell a format"):
            io.write_rows(tmp_path / name, [[1.0]])
    with pytest.raises(ParameterError, match="format: got 'xls'; choose one of svmlight"):
        io.write_rows(tmp_path / "rows", [[1.0]], format="xls")
    with pytest.raises(FileError, match="standard output: only svmlight"):
        io.RowWriter("-", "npz")
    with pytest.raises(ParameterError, match="`with` block"):
        io.RowWriter(tmp_path / "rows.svm").write([[1.0]])


def test_wide_dense_rows_are_written_in_blocks(tmp_path):
    X = np.zeros((40, 100_000), np.float32)
    X[:, ::1000] = np.arange(1, 101)
    for name in ("rows.npz", "rows.parquet", "rows.npy"):
        io.write_rows(tmp_path / name, X)
        assert_same_rows(io.read_rows(tmp_path / name)[0], X)


def test_labels_that_cannot_be(tmp_path):
    path = tmp_path / "rows.svm"
    for label in ("two words", "a:b", "a#b", "a,b", ""):
        with pytest.raises(DataError, match="cannot stand in svmlight text"):
            io.write_rows(path, [[1.0]], [label])
    with pytest.raises(DataError, match="'1e3' is text but would be read as a number"):
        io.write_rows(path, [[1.0]], ["1e3"])
    with pytest.raises(DataError, match=r"y: has shape \(2,\) for 1 rows"):
        io.write_rows(path, [[1.0]], [1, 2])
    with pytest.raises(DataError, match="y: labels are of type object"):
        io.write_rows(path, [[1.0]], [None])
    with pytest.raises(DataError, match="label of row 0 is nan"):
        io.write_rows(path, [[1.0]], [np.nan])
    with pytest.raises(DataError, match="no place for labels; leave them out"):
        io.write_rows(tmp_path / "rows.npy", [[1.0]], [1])
    assert os.listdir(tmp_path) == []


def test_batches_must_be_alike(tmp_path):
    first = np.ones((2, 3)), np.array([1, 2])
    for X, y in (
        (np.ones((2, 4)), [1, 2]), (np.ones((2, 3), np.float32), [1, 2]),
        (np.ones((2, 3)), [1.5, 2]), (np.ones((2, 3)), None),
    ):  # fmt: skip
        with pytest.raises(DataError, match="give all batches alike"):
            write_batches(tmp_path / "rows.npz", [first, (X, y)])


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3", 2**63])
@pytest.mark.parametrize("name", ["n_columns", "batch_rows", "batch_bytes"])
def test_sizes_that_cannot_be(tmp_path, name, value):
    io.write_rows(tmp_path / "rows.svm", [[1.0]])
    with pytest.raises(ParameterError, match=name):
        io.open_rows(tmp_path / "rows.svm", **{name: value})


def test_formats_with_a_width_of_their_own(tmp_path):
    for name in ("rows.npz", "rows.npy"):
        io.write_rows(tmp_path / name, np.ones((2, 3)))
        with pytest.raises(DataError, match="has 3 columns where 4 are wanted"):
            io.open_rows(tmp_path / name, n_columns=4)
        with pytest.raises(ParameterError, match="one_based: only svmlight text"):
            io.open_rows(tmp_path / name, one_based=True)
    io.write_rows(tmp_path / "rows.parquet", np.ones((2, 3)))
    assert io.read_rows(tmp_path / "rows.parquet", n_columns=4)[0].shape == (2, 4)
    with pytest.raises(DataError, match="has 3 columns, but there are to be 2"):
        io.open_rows(tmp_path / "rows.parquet", n_columns=2)


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    io.write_rows(tmp_path / "rows.parquet", [[1.0]])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for call in (io.read_rows, lambda path: io.write_rows(path, [[1.0]])):
        with pytest.raises(MissingExtra, match=r"pip install 'corekernels\[parquet\]'") as caught:
            call(tmp_path / "rows.parquet")
        assert isinstance(caught.value, ImportError)


def test_a_row_longer_than_a_batch(tmp_path):
    X = sparse.csr_array(np.ones((3, 5000)))
    for name in NAMES:
        io.write_rows(tmp_path / name, X)
        parts = list(io.open_rows(tmp_path / name, batch_bytes=100))
        assert [part.X.shape for part in parts] == [(1, 5000)] * 3


def test_zip_members_in_any_order(tmp_path):
    io.write_rows(tmp_path / "a.npz", example(), [1, 2, 3, 4])
    with (
        zipfile.ZipFile(tmp_path / "a.npz") as old,
        zipfile.ZipFile(tmp_path / "b.npz", "w") as new,
    ):
        for name in reversed(old.namelist()):
            new.writestr(name, old.read(name))
    X, y = io.read_rows(tmp_path / "b.npz")
    assert_same_rows(X, example())
    assert y.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("form", ["csc", "coo"])
@pytest.mark.parametrize("batch_bytes", [40, 1 << 20])
def test_npz_by_columns_and_by_entries(tmp_path, form, batch_bytes):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((50, 30)) < 0.2, rng.normal(size=(50, 30)), 0)
    dense[7:9] = 0
    X = sparse.csr_array(dense)
    sparse.save_npz(tmp_path / "rows.npz", X.asformat(form))
    assert io.detect(tmp_path / "rows.npz") == "npz"
    reader = io.open_rows(tmp_path / "rows.npz", batch_bytes=batch_bytes)
    assert (reader.n_rows, reader.n_columns) == (50, 30)
    batches = list(reader)
    assert [batch.first_row for batch in batches] == np.cumsum(
        [0, *map(len, batches[:-1])]
    ).tolist()
    found = sparse.vstack([batch.X for batch in batches])
    assert (found != X).nnz == 0
    with np.load(tmp_path / "rows.npz") as arrays:
        np.savez(tmp_path / "labelled.npz", **arrays, y=np.arange(50))
    assert io.read_rows(tmp_path / "labelled.npz")[1].tolist() == list(range(50))


def test_entries_given_twice_are_added_up(tmp_path):
    X = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [3, 3, 0])), shape=(2, 5))
    sparse.save_npz(tmp_path / "rows.npz", X)
    assert io.read_rows(tmp_path / "rows.npz")[0].toarray().tolist() == X.toarray().tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool"])
@pytest.mark.parametrize("batch_bytes", [100, 1 << 20])
def test_parquet_of_plain_columns(tmp_path, dtype, batch_bytes):
    rng = np.random.default_rng(0)
    dense = (rng.integers(-2, 3, (50, 4)) * (rng.random((50, 4)) < 0.5)).astype(dtype)
    frame = pd.DataFrame(dense, columns=["a", "b", "c", "d"])
    frame.insert(1, "label", np.where(np.arange(50) % 2, "spam", "ham"))
    frame.index = frame.index[::-1] * 3  # pandas puts it into a column of its own
    frame.to_parquet(tmp_path / "rows.parquet")
    reader = io.open_rows(tmp_path / "rows.parquet", batch_bytes=batch_bytes)
    assert (reader.n_rows, reader.n_columns) == (50, 4)
    X, y = io.read_rows(tmp_path / "rows.parquet", batch_bytes=batch_bytes)
    assert X.dtype == (np.float32 if dtype == "float32" else np.float64)
    np.testing.assert_array_equal(X.toarray(), dense.astype(float))
    assert y.tolist() == frame["label"].tolist()
    assert X.nnz == np.count_nonzero(dense)
    with pytest.raises(DataError, match="has 4 columns where 5 are wanted"):
        io.open_rows(tmp_path / "rows.parquet", n_columns=5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"b": ["x", "y", "z"]}, "column 'b' is of type .*string; make numbers of it"),
        ({"b": [1.0, None, 2.0]}, "row 1 (has no value in column 'b'|contains NaN)"),
        ({"b": [1.0, 2.0, np.inf]}, "row 2 contains infinity"),
        ({"b": [[1.0], [2.0], [3.0]]}, "column 'b' is of type list"),
    ],
)
def test_parquet_of_plain_columns_that_are_no_numbers(tmp_path, changes, message):
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], **changes}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=f"rows.parquet: {message}"):
        io.read_rows(tmp_path / "rows.parquet")


@pytest.mark.parametrize("kind", ["plain", "lists"])
def test_labels_of_parquet_under_another_name(tmp_path, kind):
    rows = {"a": [1.0, 0, 2], "b": [0.0, 3, 4]}
    lists = {"indices": [[0], [1], [0, 1]], "values": [[1.0], [3.0], [2.0, 4.0]]}
    path, labels = tmp_path / "rows.parquet", ["spam", "ham", "spam"]
    pq.write_table(pa.table({**(rows if kind == "plain" else lists), "target": labels}), path)
    X, y = io.read_rows(path, label="target")
    assert X.toarray().tolist() == [[1, 0], [0, 3], [2, 4]]
    assert y.tolist() == labels
    X, y = io.read_rows(path, label="target", labels=False)
    assert (X.shape, y) == ((3, 2), None)
    with pytest.raises(DataError, match=r"has no column 'answer' of labels; name one of: .*target"):
        io.open_rows(path, label="answer")
