"""Files that are not what they should be: one clear error each, nothing loaded."""

import bz2
import gzip
import io as streams
import os
import pickle
import sys
import threading
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from corekernels import io
from corekernels.errors import CoREError, DataError, FileError
from corekernels.io.npy import read_header

X = sparse.random_array((30, 12), density=0.3, format="csr", rng=np.random.default_rng(0))


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


def arrays(**changes):
    found = {
        "format": np.array(b"csr"), "shape": np.array(X.shape), "data": X.data,
        "indices": X.indices, "indptr": X.indptr,
    }  # fmt: skip
    return {key: value for key, value in {**found, **changes}.items() if value is not None}


@pytest.mark.parametrize("call", [io.detect, io.open_rows])
def test_files_that_are_not_there(tmp_path, call):
    with pytest.raises(FileError, match="missing: does not exist; check the name"):
        call(tmp_path / "missing")
    with pytest.raises(FileError, match="is a folder"):
        call(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(FileError, match="empty: is empty"):
        call(tmp_path / "empty")
    with pytest.raises(FileError, match="cannot be opened"):
        call(tmp_path / ("long" * 100))
    for format in ("svmlight", "npz", "npy", "parquet"):  # noqa: A001
        for name in (".", "missing", "empty"):
            with pytest.raises(FileError):
                io.open_rows(tmp_path / name, format=format)


def test_no_permission(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "rows").write_text("1 1:1\n")
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileError, match="may not be read; ask for the permission"):
        io.read_rows(tmp_path / "rows")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_damaged_packing(tmp_path, pack):
    rng = np.random.default_rng(0)
    text = "".join(f"1 1:{value}\n" for value in rng.normal(size=20_000)).encode()
    whole = pack(text)
    path = tmp_path / "rows"
    for size in (15, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match=rf"rows: the \w+ file is cut short.* byte {size} "):
            io.read_rows(path)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    path.write_bytes(damaged)
    with pytest.raises(CoREError):  # bz2 finds out late: the text may look wrong before
        io.read_rows(path)
    path.write_bytes(whole + b"strange bytes")
    with pytest.raises(FileError, match=r"rows: its \w+ packing is damaged before byte \d+"):
        io.read_rows(path)
    path.write_bytes(whole + pack(b"1 2:7\n"))
    assert io.open_rows(path).n_rows == 20_001
    path.write_bytes(pack(b""))
    with pytest.raises(FileError, match="empty once unpacked"):
        io.read_rows(path)
    path.write_bytes(pack(b"PK\x03\x04"))
    with pytest.raises(FileError, match="only svmlight text is read packed; unpack it first"):
        io.read_rows(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": np.array(b"bsr")}, "holds a matrix in format 'bsr'; save it with"),
        ({"format": np.array(b"csc")}, "do not make 30 rows of 12 columns"),
        ({"format": np.array(b"coo")}, "lacks the arrays col, row"),
        ({"format": None}, "holds data, indices, indptr, shape, not a sparse matrix"),
        ({"format": np.arange(1000)}, r"\(format\): is not what SciPy writes"),
        ({"indptr": None}, "lacks the arrays indptr"),
        ({"indptr": X.indptr[:-1]}, "do not make 30 rows"),
        ({"indptr": X.indptr.astype(float)}, r"\(indptr\): does not hold integers"),
        ({"indptr": X.indptr[::-1].copy()}, r"\(indptr\): does not fit the values"),
        ({"indptr": X.indptr + 1}, r"\(indptr\): does not fit the values"),
        ({"indptr": np.where(np.arange(31) == 7, 10**6, X.indptr)}, "values at row"),
        ({"indptr": np.minimum(X.indptr, 50)}, r"\(indptr\): does not fit the values at row 29"),
        ({"data": X.data[:-1]}, "do not make 30 rows"),
        ({"data": X.data * 1j}, "Complex data not supported"),
        ({"data": np.where(np.arange(X.nnz) == 0, np.nan, X.data)}, "row 0 contains NaN"),
        ({"data": np.where(np.arange(X.nnz) == X.nnz - 1, np.inf, X.data)}, "contains infinity"),
        ({"indices": np.where(np.arange(X.nnz) == 0, 12, X.indices)}, "row 0 has the column 12"),
        ({"indices": X.indices - 20}, "row 0 has the column -"),
        ({"shape": np.array([30, 0])}, "has no columns"),
        ({"shape": np.array([-30, 3])}, "do not make -30 rows"),
        ({"y": np.zeros(29)}, r"\(y\): has shape \(29,\)"),
        ({"y": np.full(30, np.nan)}, "label of row 0 is nan"),
        ({"labels": np.zeros(30, "M8[s]")}, r"\(labels\): has shape .* type datetime64"),
        ({"labels": np.full(30, b"\xff")}, "not a whole npz file"),
        ({"labels": np.zeros(30, "<U2000")}, r"\(labels\): labels of type <U2000 take 8,000 bytes"),
        ({"format": np.array("csr", "<U2000")}, r"\(format\): is not what SciPy writes"),
    ],
)
def test_npz_that_is_no_csr_matrix(tmp_path, changes, message):
    np.savez(tmp_path / "rows.npz", **arrays(**changes))
    with pytest.raises((FileError, DataError), match=f"rows.npz.*{message}"):
        io.read_rows(tmp_path / "rows.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"row": X.tocoo().coords[0] - 1}, "has an entry in row -1, outside 0 to 29"),
        ({"col": X.tocoo().coords[1] + 1}, "has an entry in column 12, outside 0 to 11"),
        ({"row": X.tocoo().coords[0] + 0.0}, r"\(row\): does not hold integers"),
        ({"col": np.zeros(3, np.int32)}, "do not make 30 rows"),
        ({"data": np.full(X.nnz, np.nan)}, "row 0 contains NaN"),
        ({"shape": np.array([-1, 12])}, "has an entry in row|do not make"),
        ({"shape": np.array([10**9, 12])}, "says that it has 1000000000 rows, but holds"),
    ],
)
def test_damaged_matrices_by_entries(tmp_path, changes, message):
    row, col = X.tocoo().coords
    found = {"format": np.array(b"coo"), "shape": np.array(X.shape), "data": X.tocoo().data}
    np.savez(tmp_path / "rows.npz", **{**found, "row": row, "col": col, **changes})
    with pytest.raises((FileError, DataError), match=f"rows.npz.*{message}"):
        io.read_rows(tmp_path / "rows.npz")


@pytest.mark.parametrize("change", [lambda p: p[::-1].copy(), lambda p: p + 1, lambda p: p * 0])
def test_damaged_matrices_by_columns(tmp_path, change):
    C = X.tocsc()
    found = {"format": np.array(b"csc"), "shape": np.array(X.shape), "data": C.data}
    found |= {"indices": C.indices, "indptr": change(C.indptr)}
    np.savez(tmp_path / "rows.npz", **found)
    with pytest.raises(FileError, match=r"rows.npz \(indptr\): does not fit the values"):
        io.read_rows(tmp_path / "rows.npz")


def test_a_row_that_asks_for_gigabytes_is_refused_before_it_is_read(tmp_path):
    """Entries of one column over and over take no room in a zip."""
    n = 300_000
    changes = {"shape": np.array([1, 10]), "indptr": np.array([0, n])}
    changes |= {"data": np.ones(n), "indices": np.zeros(n, np.int32)}
    np.savez_compressed(tmp_path / "rows.npz", **arrays(**changes))
    assert (tmp_path / "rows.npz").stat().st_size < 10_000
    tracemalloc.start()
    with pytest.raises(DataError, match="row 0 has 300,000 entries for 10 columns; add up"):
        io.read_rows(tmp_path / "rows.npz", batch_bytes=1000)
    assert tracemalloc.get_traced_memory()[1] < n
    tracemalloc.stop()


@pytest.mark.parametrize("key", ["data", "indices", "indptr", "shape", "format", "y"])
def test_pickles_are_never_loaded(tmp_path, monkeypatch, key):
    monkeypatch.chdir(tmp_path)
    bomb = np.empty((), object)
    bomb[()] = Bomb()
    np.savez("rows.npz", **arrays(**{key: bomb}))
    np.save("rows.npy", bomb.reshape(1, 1))
    (tmp_path / "rows.pkl").write_bytes(pickle.dumps(Bomb()))
    for name in ("rows.npz", "rows.npy"):
        with pytest.raises(FileError, match=r"holds a pickle, .* never loaded"):
            io.read_rows(name)
    with pytest.raises(CoREError):
        io.read_rows("rows.pkl")
    assert not (tmp_path / "exploded").exists()


def refused_if_cut(path, least, kind):
    """Rows in a file of that name, which must be refused if it is cut; the bytes of the whole."""
    io.write_rows(path, X)
    whole = path.read_bytes()
    for size in (least, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match=rf"{path.name}: not a whole {kind} file"):
            io.read_rows(path)
    return whole


def test_zip_files_that_are_none(tmp_path):
    path = tmp_path / "rows.npz"
    refused_if_cut(path, 30, "zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(FileError, match="a zip without arrays"):
        io.detect(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("format.npy", b"\x93NUMPY\x01\x00\xff\xff{")
        archive.writestr("shape.npy", b"")
    with pytest.raises(FileError, match=r"rows.npz \(format\): not a whole np[yz] file"):
        io.read_rows(path)


def test_lengths_that_lie(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, X.toarray())
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"(30, 12)", b"(90, 12)"))
    with pytest.raises(FileError, match="bytes where its header asks for"):
        io.read_rows(path)
    path.write_bytes(raw.replace(b"(30, 12), ", b"(3" + b"0" * 8))
    with pytest.raises(CoREError):
        io.read_rows(path)
    path.write_bytes(raw + b"more")
    with pytest.raises(FileError, match="fetch or make it again"):
        io.read_rows(path)
    np.savez(tmp_path / "sound.npz", **arrays())
    with (
        zipfile.ZipFile(tmp_path / "sound.npz") as old,
        zipfile.ZipFile(tmp_path / "rows.npz", "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"(%d,), " % X.nnz, b"(9%d,)," % X.nnz))
    with pytest.raises(FileError, match="its length does not fit"):
        io.read_rows(tmp_path / "rows.npz")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"array of shape \(3,\); rows and columns are needed"),
        (np.zeros((3, 0)), r"array of shape \(3, 0\)"),
        (np.zeros((3, 2), complex), "Complex data not supported"),
        (np.array([["a", "b"]]), "values are of type <U1"),
        (np.array([[1.0, 2], [np.nan, 1]]), "row 1 contains NaN"),
        (np.array([[1.0, 2], [np.inf, 1]]), "row 1 contains infinity"),
    ],
)
def test_npy_that_holds_no_rows(tmp_path, array, message):
    np.save(tmp_path / "rows.npy", array)
    with pytest.raises(DataError, match=f"rows.npy: .*{message}"):
        io.read_rows(tmp_path / "rows.npy")


GOOD = {"indices": [[0, 2], [], [1]], "values": [[1.0, 2.0], [], [3.0]], "label": [1, 2, 3]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"indices": None}, "column 'indices' is missing.*The file has: values, label"),
        ({"values": None}, "column 'values' is missing"),
        ({"values": [["a"], [], []]}, "column 'values' is of type list"),
        ({"indices": [0, 1, 2]}, "column 'indices' is of type int64"),
        ({"indices": [[0.5], [], []]}, "column 'indices' is of type list"),
        ({"indices": [[0, 2], [], [1, 2]]}, "row 2 has 2 indices and 1 values"),
        ({"indices": [[0, 2], None, [1]]}, "row 1 has no indices"),
        ({"values": [[1.0, None], [], [1.0]]}, "row 0 has a null among its values"),
        ({"values": [[1.0, 2.0], [], [np.nan]]}, "row 2 contains NaN"),
        ({"indices": [[0, -2], [], [1]]}, "row 0 has the column -2, outside 0 to 1"),
        (
            {"indices": pa.array([[0, 2**63 + 1], [], [1]], pa.list_(pa.uint64()))},
            "has a column|column",
        ),
        ({"label": [1, None, 2]}, "row 1 has no label"),
        ({"label": [1.0, 2.0, np.inf]}, "row 2 has the label inf"),
        ({"label": [[1], [2], [3]]}, "labels of type list"),
        (
            {"indices": [[], [], []], "values": [[], [], []]},
            "column 'indices' is of type|no row has",
        ),
    ],
)
def test_parquet_without_the_right_columns(tmp_path, columns, message):
    table = {key: value for key, value in {**GOOD, **columns}.items() if value is not None}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    with pytest.raises((FileError, DataError), match=f"rows.parquet: .*({message})"):
        io.read_rows(tmp_path / "rows.parquet")


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("large", [True, False])
def test_parquet_of_others(tmp_path, statistics, large):
    lists = pa.large_list if large else pa.list_
    table = pa.table(
        {
            "label": pa.array(["a", "b", "a"]).dictionary_encode(),
            "indices": pa.array(GOOD["indices"], lists(pa.int16())),
            "values": pa.array(GOOD["values"], lists(pa.float32())),
            "else": [{"x": 1}] * 3,
        }
    )
    pq.write_table(table, tmp_path / "rows", row_group_size=2, write_statistics=statistics)
    rows, y = io.read_rows(tmp_path / "rows")
    assert rows.dtype == np.float32
    assert rows.toarray().tolist() == [[1, 0, 2], [0, 0, 0], [0, 3, 0]]
    assert y.tolist() == ["a", "b", "a"]
    assert io.read_rows(tmp_path / "rows", n_columns=2**40)[0].shape == (3, 2**40)


def test_damaged_parquet(tmp_path):
    path = tmp_path / "rows.parquet"
    damaged = bytearray(refused_if_cut(path, 8, "Parquet"))
    damaged[100] ^= 255
    path.write_bytes(damaged)
    with pytest.raises(FileError, match=r"rows.parquet: not a whole Parquet file"):
        io.read_rows(path)


def test_safetensors_of_others(tmp_path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(FileError, match="holds no signatures, model, index or frequencies"):
        io.detect(tmp_path / "other")
    (tmp_path / "forged").write_bytes((2**60).to_bytes(8, "little") + b'{"a":1}')
    with pytest.raises(FileError, match="forged: not a whole safetensors file"):
        io.detect(tmp_path / "forged")


class Garbage:
    """A cycle whose end lets another thread run."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        for _ in range(200):
            pass


def test_headers_are_read_by_several_threads():
    """At different depths of the stack, and with garbage to collect meanwhile."""
    file = streams.BytesIO()
    np.save(file, np.zeros((3, 4)))
    before, shapes = sys.getswitchinterval(), []

    def read(depth):
        if depth:
            read(depth - 1)
            return
        for _ in range(300):
            garbage = [Garbage() for _ in range(3)]
            del garbage
            shapes.append(read_header(streams.BytesIO(file.getvalue()), "rows.npy").shape)

    threads = [threading.Thread(target=read, args=(5 * number,)) for number in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert shapes == 1200 * [(3, 4)]
