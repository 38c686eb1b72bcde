"""Predictions, evaluations and searches by parts are those of one machine."""

import numpy as np
import pytest

import corekernels as ck
from corekernels import files, io
from corekernels.errors import DataError, ParameterError
from support.command_line import as_json, ok, run


@pytest.fixture(scope="module")
def learned(tmp_path_factory, digits):
    """A folder with models, an index, and rows to predict, in one file and in a folder of three."""
    X, y = digits
    base = tmp_path_factory.mktemp("learned")
    for name, estimator in {
        "classes": ck.CoREClassifier(n_hashes=32, loss="log_loss", tol=1e-2, random_state=0),
        "values": ck.CoRERegressor(n_hashes=32, tol=1e-2, random_state=0),
    }.items():
        estimator.fit(X[:300], y[:300]).save(base / name)
    ck.CoRENeighbors(n_neighbors=3, random_state=0).fit(X[:300]).save(base / "index")
    io.write_rows(base / "rows.npz", X[300:420], y[300:420])
    (base / "parts").mkdir()
    for number in range(3):
        some = slice(300 + 40 * number, 340 + 40 * number)
        io.write_rows(base / "parts" / f"{number}.npz", X[some], y[some])
    return base


def planned(engine, base, **options):
    return files.plan_parts(engine, base / "parts", part_rows=25, match_columns=64, **options)


def opened(base, **options):
    return files.open_reader(base / "rows.npz", match_columns=64, **options)


@pytest.mark.parametrize(
    ("name", "output"), [("classes", "labels"), ("classes", "probabilities"), ("values", "labels")]
)
def test_predictions_are_the_same_bytes(engine, learned, tmp_path, name, output):
    model, plan = ck.load_model(learned / name), planned(engine, learned)
    n_rows = files.predict(model, plan, tmp_path / "parts", output=output, engine=engine)
    files.predict(model, opened(learned), tmp_path / "one", output=output)
    assert n_rows == 120
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "one").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "parts"]


@pytest.mark.parametrize("name", ["classes", "values"])
def test_evaluations_are_the_same(engine, learned, name):
    model, plan = ck.load_model(learned / name), planned(engine, learned)
    found = files.evaluate(model, plan, engine=engine)
    expected = files.evaluate(model, opened(learned))
    for field, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, field), value)


@pytest.mark.parametrize("options", [{"n_neighbors": 2}, {"radius": 0.3}])
def test_neighbours_are_the_same_bytes(engine, learned, tmp_path, options):
    if engine.name != "local" and "radius" in options:
        pytest.skip("one kind of search is enough for a cluster")
    plan = planned(engine, learned, labels=False)
    target = tmp_path / "parts"
    report = files.search(learned / "index", plan, target, engine=engine, **options)
    index = ck.CoRENeighbors.load(learned / "index")
    expected = files.search(index, opened(learned, labels=False), tmp_path / "one", **options)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "one").read_bytes()
    assert (report.queries, report.found) == (expected.queries, expected.found)


def test_columns_that_the_model_does_not_know(local, learned, tmp_path, digits):
    X = np.hstack([digits[0][:20], np.ones((20, 3))])
    io.write_rows(tmp_path / "wide.svm", X, digits[1][:20])
    model = ck.load_model(learned / "classes")
    refused = pytest.raises(DataError, match=r"has 67 columns, 64 .* \(ignore_new_columns=True\)")
    options = {"match_columns": 64, "one_based": True}
    with refused:  # svmlight text is scanned only where it is to be cut
        files.plan_parts(local, tmp_path / "wide.svm", part_rows=7, **options)
    plan = files.plan_parts(local, tmp_path / "wide.svm", **options)
    with refused:
        files.evaluate(model, plan, engine=local)
    plan = files.plan_parts(
        local, tmp_path / "wide.svm", match_columns=64, ignore_new_columns=True, part_rows=7
    )
    found = files.evaluate(model, plan, engine=local)
    reader = files.open_reader(tmp_path / "wide.svm", match_columns=64, ignore_new_columns=True)
    assert found.accuracy == files.evaluate(model, reader).accuracy


def test_arrays_are_not_written_by_parts(local, learned):
    plan = planned(local, learned)
    with pytest.raises(ParameterError, match="an engine writes lines, not arrays"):
        files.search(learned / "index", plan, "found.npz", engine=local)


def test_the_commands(learned, tmp_path):
    parts, one = f"{learned}/parts --engine local", f"{learned}/rows.npz"
    found, expected = (as_json(f"evaluate {learned}/classes {rows}") for rows in (parts, one))
    assert found == expected
    for line in (
        f"predict {learned}/classes {{rows}} {{out}}",
        f"search {learned}/index {{rows}} {{out}}",
    ):
        out = [tmp_path / f"{line[:4]}-{number}" for number in range(2)]
        ok(line.format(rows=f"{learned}/parts", out=f"{out[0]} --engine local --workers 2"))
        ok(line.format(rows=one, out=out[1]))
        assert out[0].read_bytes() == out[1].read_bytes()
    refused = run(f"predict {learned}/classes {learned}/parts - --engine local")
    assert "a cluster writes to files" in refused.stderr
