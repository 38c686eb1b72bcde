"""Frames of Dask and Spark hash to the signatures of their rows."""

import inspect

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels import files
from corekernels.errors import DataError
from corekernels.files.engines.frames import (
    SPARSE,
    rows_of_table,
    signature_columns,
    signatures_of_table,
)
from corekernels.signatures import sketch

pyarrow = pytest.importorskip("pyarrow")

N_ROWS = 90


@pytest.fixture(scope="module")
def rows(digits):
    X, y = digits
    return sparse.csr_array(X[:N_ROWS]), y[:N_ROWS]


@pytest.fixture(scope="module")
def recipe():
    return ck.Recipe(n_columns=64, n_hashes=16, kernel="core2")  # has all the arrays there are


def lists(X):
    """Sparse rows as two columns of lists."""
    bounds = list(zip(X.indptr[:-1], X.indptr[1:], strict=True))
    return {
        "indices": [X.indices[a:b].tolist() for a, b in bounds],
        "values": [X.data[a:b].tolist() for a, b in bounds],
    }


def vectors(X):
    """Vectors of Spark ML as Arrow sees them, every second one dense."""
    found = []
    for row in range(X.shape[0]):
        mine = X[[row]]
        if row % 2:
            found.append({"type": 1, "size": None, "indices": None,
                          "values": mine.toarray()[0].tolist()})  # fmt: skip
        else:
            found.append({"type": 0, "size": X.shape[1], "indices": mine.indices.tolist(),
                          "values": mine.data.tolist()})  # fmt: skip
    kind = pyarrow.struct([("type", pyarrow.int8()), ("size", pyarrow.int32()),
                           ("indices", pyarrow.list_(pyarrow.int32())),
                           ("values", pyarrow.list_(pyarrow.float64()))])  # fmt: skip
    return pyarrow.array(found, kind)


def test_rows_of_every_kind_of_column(rows):
    X, _ = rows
    dense = {f"c{i}": X.toarray()[:, i] for i in range(64)}
    tables = {
        ("indices", "values"): pyarrow.table(lists(X)),
        "features": pyarrow.table({"features": X.toarray().tolist()}),
        tuple(dense): pyarrow.table(dense),
        "vectors": pyarrow.table({"vectors": vectors(X)}).slice(0),
    }
    for features, table in tables.items():
        for some in (slice(0, N_ROWS), slice(13, 40)):
            part = table.slice(some.start, some.stop - some.start)
            found = rows_of_table(part, features, 64, "frame")
            np.testing.assert_array_equal(found.matrix().toarray(), X.toarray()[some])


def test_what_is_wrong_with_a_frame_is_named(rows):
    X, _ = rows
    table = pyarrow.table(lists(X))
    with pytest.raises(DataError, match="frame: has no column 'features'; its columns are ind"):
        rows_of_table(table, "features", 64, "frame")
    with pytest.raises(DataError, match="frame: row 0 has the column"):
        rows_of_table(table, SPARSE, 3, "frame")
    with pytest.raises(DataError, match="frame: row 0 has 64 columns where 3 are wanted"):
        rows_of_table(pyarrow.table({"v": vectors(X)}), "v", 3, "frame")


def test_signatures_go_through_columns(rows, recipe):
    S = sketch(rows[0], recipe)
    table = pyarrow.table(signature_columns(S))
    found = signatures_of_table(table.slice(5, 50), recipe)
    for name, array in found.arrays().items():
        np.testing.assert_array_equal(array, S.arrays()[name][5:55])


def test_the_functions_of_dask_and_spark_are_twins():
    """What one takes the other takes too, but for the cluster, the order and the way to go on."""
    dask, spark = (
        inspect.signature(function).parameters
        for function in (files.hash_dask_frame, files.hash_spark_frame)
    )
    assert dask.keys() - spark.keys() == {"engine", "resume", "progress"}
    assert spark.keys() - dask.keys() == {"id", "n_parts"}
    for name in dask.keys() & spark.keys():
        assert dask[name].default == spark[name].default
        assert dask[name].kind == spark[name].kind


@pytest.mark.engines
@pytest.mark.parametrize("engine", ["dask"], indirect=True)
def test_a_dask_frame(engine, rows, recipe, tmp_path):
    import dask
    import dask.dataframe as dd
    import pandas as pd

    X, y = rows
    pandas = pd.DataFrame({**lists(X), "label": y})
    with pytest.raises(DataError, match="Dask makes text of lists unless"):
        files.hash_dask_frame(
            engine, dd.from_pandas(pandas, npartitions=1), tmp_path / "text", recipe
        )
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(pandas, npartitions=3)
    report = files.hash_dask_frame(engine, frame, tmp_path / "out", recipe, label="label")
    assert (report.rows, report.parts) == (N_ROWS, 3)
    found, labels = files.load_signatures(tmp_path / "out")
    np.testing.assert_array_equal(found.codes, sketch(X, recipe).codes)
    np.testing.assert_array_equal(labels, y)


@pytest.mark.engines
@pytest.mark.parametrize("engine", ["dask"], indirect=True)
def test_a_dask_array_of_sparse_blocks(engine, rows, recipe, tmp_path):
    import dask
    import dask.array as da

    X, y = rows
    blocks = [
        da.from_delayed(dask.delayed(X[start : start + 30]), (30, 64), dtype=float)
        for start in range(0, N_ROWS, 30)
    ]
    array, labels = da.concatenate(blocks), da.from_array(y, chunks=30)
    files.hash_dask_frame(engine, array, tmp_path / "out", recipe, label=labels)
    found, labels = files.load_signatures(tmp_path / "out")
    np.testing.assert_array_equal(found.codes, sketch(X, recipe).codes)
    np.testing.assert_array_equal(labels, y)
    with pytest.raises(DataError, match="its columns are in 2 blocks"):
        files.hash_dask_frame(engine, da.zeros((9, 64), chunks=(3, 32)), "x", recipe)


@pytest.mark.engines
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_a_spark_frame(engine, rows, recipe, tmp_path):
    X, y = rows
    shuffled = np.random.default_rng(0).permutation(N_ROWS).tolist()
    columns = lists(X)
    made = [(row, int(y[row]), columns["indices"][row], columns["values"][row]) for row in shuffled]
    names = ["row", "label", "indices", "values"]
    frame = engine.session.createDataFrame(made, names).repartition(2)
    report = files.hash_spark_frame(
        frame, tmp_path / "out", recipe, id="row", label="label", n_parts=3
    )
    assert report.rows == N_ROWS
    found, labels = files.load_signatures(tmp_path / "out")
    np.testing.assert_array_equal(found.codes, sketch(X, recipe).codes)
    np.testing.assert_array_equal(labels, y)
    wrong = {"features": ("indices", "indices"), "label": "label"}
    small = ck.Recipe(n_columns=10, n_hashes=4)
    with pytest.raises(DataError, match="has the column"):
        files.hash_spark_frame(frame, tmp_path / "bad", small, id="row", **wrong)
