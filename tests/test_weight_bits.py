"""Weights of 8 and 4 bits in all that is made from rows: models, files, commands, plans."""

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import ParameterError, RecipeMismatch
from corekernels.files.engines.frames import signature_columns
from corekernels.files.readers import recipe_for
from corekernels.theory.dependence import rounded_normal
from support.command_line import as_json, run

ONE_BYTE = {"n_bits": 4, "weight_bits": 4}
BITS = [ONE_BYTE, {"n_bits": 7, "weight_bits": 8}]


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.poisson(0.6, (60, 50)) * rng.normal(size=(60, 50))


def as_halves(S):
    """Signatures with weights of half precision, which are numbers of units: these are exact."""
    codes = S.codes.astype(np.uint8)
    weights = (2 * (S.slots >> S.recipe.weight_bits) + 1).astype(np.float16)
    recipe = ck.Recipe("core1", S.recipe.n_hashes, S.recipe.n_bits, n_columns=S.recipe.n_columns)
    arrays = {"codes": codes, "weights": weights, "lengths": S.lengths}
    return ck.Signatures.from_arrays(recipe, arrays)


@pytest.mark.parametrize("bits", [BITS[0], pytest.param(BITS[1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("solver", ["descent", "newton"])
def test_learning_from_slots_is_learning_from_their_codes_and_weights(X, bits, solver):
    X[3] = 0
    X[20:22] = X[10:12]  # equal rows are merged
    S = ck.CoREHasher(n_hashes=70, **bits, random_state=0).fit(X).sketch(X)
    halves, y = as_halves(S), np.arange(60) % 3
    options = {"solver": solver, "tol": 1e-7, "random_state": 0}
    # a gap of tol times the objective, which is at most that of w = 0, bounds |w - best|^2 / 2;
    # equal rows are found by a hash of their bits, and a descent visits rows in its order
    atol = 0 if solver == "newton" else 2 * np.sqrt(2 * options["tol"] * 60 * 2**2)
    for model, labels in (
        (ck.linear.HashedLinearClassifier(**options), y),
        (ck.linear.HashedLinearClassifier("log_loss", **options), y == 1),
        (ck.linear.HashedLinearRegressor(**options), y),
    ):
        expected = [planes.copy() for planes in model.fit(halves, labels)._coefficients.blocks]
        for mine, theirs in zip(model.fit(S, labels)._coefficients.blocks, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=atol)
        assert len(model.predict(S)) == 60


@pytest.mark.parametrize("bits", BITS)
def test_models_keep_them(X, bits, tmp_path):
    y = np.arange(60) % 2
    for kind in (ck.CoREClassifier, ck.CoRERegressor):
        model = kind("core_rbf", 64, gamma=3, **bits, random_state=0).fit(X, y)
        model.save(tmp_path / "m")
        loaded = ck.load_model(tmp_path / "m")
        assert loaded.recipe_ == model.recipe_
        assert loaded.weight_bits == bits["weight_bits"]
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    S = ck.CoREHasher("core_rbf", 64, gamma=3, n_bits=bits["n_bits"], random_state=0).fit(X)
    with pytest.raises(RecipeMismatch, match="weight_bits"):
        model.linear_.predict(S.sketch(X))


def test_streams_learn_from_them(X):
    y = np.arange(60) % 2
    S = ck.CoREHasher(n_hashes=64, **ONE_BYTE, random_state=0).fit(X).sketch(X)
    model = ck.linear.HashedLinearClassifier(random_state=0)
    for _ in range(20):
        model.partial_fit(S, y, classes=[0, 1])
    assert model.score(S, y) > 0.9


def test_plans_know_them():
    """The variance grows by the factor of the rounding, and so does the number of hashes."""
    exact, rounded = (
        ck.plan(0.02, R=0.3, rho=0.5, n_bits=4, weight_bits=bits).n_hashes for bits in (16, 4)
    )
    factor = rounded_normal(4).variance_factor
    assert rounded == pytest.approx(exact * factor, abs=1 + 0.001 * exact)
    assert ck.plan(n_hashes=1000, n_bits=4, weight_bits=4).bytes_per_row == 1008
    assert ck.plan(n_hashes=1000, weight_bits=8).bytes_per_row == 2008


def test_commands_pass_them_on(in_digits):
    line = "--n-hashes 32 --n-bits 4 --weight-bits 4"
    as_json(f"hash train.svm s {line}")
    S = ck.Signatures.load("s")
    assert (S.recipe.weight_bits, S.slots.dtype) == (4, np.int8)
    assert as_json("info s")["weight_bits"] == 4
    as_json(f"hash train.svm shards {line} --shard-rows 100")
    shards, _ = ck.files.load_signatures("shards")
    np.testing.assert_array_equal(shards.slots, S.slots)
    as_json("hash train.svm s --n-hashes 32 --n-bits 4 --weight-bits 4 --append")
    assert len(ck.Signatures.load("s")) == 2 * len(S)
    as_json("train s m")
    assert ck.load_model("m").recipe_ == S.recipe
    as_json(f"train train.svm n {line}")
    found = as_json("evaluate n test.svm")
    assert found["accuracy"] > 0.5
    assert as_json("plan --n-hashes 32 --n-bits 4 --weight-bits 4")["bytes_per_row"] == 40
    refused = run("hash train.svm s --n-hashes 32 --n-bits 4 --append")
    assert refused.exit_code == 2
    assert "--weight-bits 4 and 16" in refused.output
    refused = run("hash train.svm t --weight-bits 4")
    assert "--n-bits: got 8" in refused.output
    with pytest.raises(ParameterError, match="weight_bits: got 8, but s was hashed with 4"):
        recipe_for(ck.files.open_reader("s"), weight_bits=8)


def test_clusters_pass_them_on(X, tmp_path):
    ck.io.write_rows(tmp_path / "rows.npz", X, np.arange(60) % 2)
    with ck.files.open_engine("local") as engine:
        plan = ck.files.plan_parts(engine, tmp_path / "rows.npz")
        recipe = recipe_for(plan, n_hashes=32, **ONE_BYTE)
        ck.files.hash_to_file(plan, tmp_path / "s", recipe, shard_rows=25, engine=engine)
    S, _ = ck.files.load_signatures(tmp_path / "s")
    hasher = ck.CoREHasher(n_hashes=32, **ONE_BYTE, random_state=0).fit(X)
    np.testing.assert_array_equal(S.slots, hasher.sketch(X).slots)
    pytest.importorskip("pyarrow")
    import pyarrow

    table = pyarrow.table(signature_columns(S))
    assert table.column_names == ["slots", "lengths"]
    again = ck.files.signatures_of_table(table, S.recipe)
    np.testing.assert_array_equal(again.slots, S.slots)


def test_displays_say_them(X):
    S = ck.CoREHasher(n_hashes=32, **ONE_BYTE, random_state=0).fit(X).sketch(X)
    assert "weight_bits" in S._repr_html_()
    assert "weight_bits" not in ck.Recipe()._repr_html_()
