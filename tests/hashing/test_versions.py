"""Rows hashed by older versions of the contract."""

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels._core.team import Team
from corekernels._core.validation import check_rows
from corekernels.errors import ParameterError
from corekernels.kernel_table import CORE1
from corekernels.neighbors.candidates.lsh import Tables
from corekernels.neighbors.store import make_store
from corekernels.recipe import CONTRACT_VERSION
from corekernels.signatures import sketch

N_COLUMNS = 10**6


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(N_COLUMNS, (30, 20), replace=False), axis=1)
    indptr = np.arange(0, 601, 20)
    return sparse.csr_array((rng.random(600), columns.ravel(), indptr), shape=(30, N_COLUMNS))


OLD = [("core1", 3), ("core1", 4), ("core2", 7)]


def old_recipe(kernel, version):
    return ck.Recipe(kernel, n_hashes=16, n_columns=N_COLUMNS, version=version)


def test_versions_differ_where_the_hash_changed(X):
    newest = ck.Recipe(n_hashes=100, n_columns=N_COLUMNS)
    three, four, seven = (sketch(X, newest.as_of(version), 1) for version in (3, 4, 7))
    assert [S.recipe.version for S in (three, four, seven)] == [3, 4, 7]
    assert (three.codes != four.codes).any()  # for many columns
    assert (four.codes != seven.codes).any()
    np.testing.assert_array_equal(three.weights, four.weights)
    assert not np.allclose(four.weights, seven.weights)


def test_recipes_name_the_version_in_which_their_hash_was_last_changed():
    def newest(**fields):
        return ck.Recipe(**{"n_columns": N_COLUMNS, **fields}).version

    assert newest(projection="rademacher", n_columns=10) == newest(scheme="independent") == 3
    assert newest(kernel="core2", n_columns=10) == newest(kernel="resemblance", n_columns=10) == 3
    assert newest() == newest(kernel="core_rbf", n_columns=10) == 7
    assert newest(kernel="core2") == 8
    for version in (2, CONTRACT_VERSION + 1):
        with pytest.raises(ParameterError, match=f"got {version}; versions 3 to 8"):
            ck.Recipe().as_of(version)


@pytest.mark.parametrize(
    "fields",
    [{}, {"kernel": "core2"}, {"kernel": "core_rbf"}, {"scheme": "one-permutation"}],
)
def test_estimates_of_older_versions(fields):
    """Each version estimates the same kernel: all within five standard errors."""
    U = np.random.default_rng(0).lognormal(size=(2, 40))
    for n_columns in (40, N_COLUMNS):
        rows = sparse.csr_array(U)
        rows.resize((2, n_columns))
        newest = ck.Recipe(n_hashes=4096, n_columns=n_columns, **fields)
        for version in range(newest.entry.version, CONTRACT_VERSION + 1):
            S = sketch(rows, newest.as_of(version), 1)
            (estimate,), (error,) = S.estimate_pairs([0], [1])
            exact = getattr(ck, S.recipe.kernel)(U)[0, 1]
            assert abs(estimate - exact) <= 5 * error


@pytest.mark.parametrize("shard_rows", [None, 7])
@pytest.mark.parametrize(("kernel", "version"), OLD)
def test_files_are_extended_in_their_version(X, tmp_path, kernel, version, shard_rows):
    rows, target, old = tmp_path / "rows.npz", tmp_path / "rows.sig", old_recipe(kernel, version)
    sparse.save_npz(rows, X)
    reader = ck.files.open_reader(rows)
    options = {"shard_rows": shard_rows, "progress": False}
    ck.files.hash_to_file(reader, target, old, **options)
    new = ck.files.recipe_for(reader, kernel=kernel, n_hashes=16)
    assert new.version > version
    ck.files.hash_to_file(reader, target, new, append=True, **options)
    S, _ = ck.files.load_signatures(target)
    assert S.recipe == old
    np.testing.assert_array_equal(S.codes, np.vstack([sketch(X, S.recipe, 1).codes] * 2))


@pytest.mark.parametrize(("kernel", "version"), OLD)
def test_models_learn_from_old_signatures(X, kernel, version):
    S, y = sketch(X, old_recipe(kernel, version), 1), np.arange(30) % 2
    model = ck.CoREClassifier(kernel, n_hashes=16, random_state=0).fit_signatures(S, y)
    assert model.recipe_.version == version
    np.testing.assert_array_equal(model.predict(X), model.linear_.predict(S))


def test_tables_of_an_old_index(X):
    """The file does not say its version."""
    store = make_store(check_rows(X), CORE1)
    built = Tables.build(
        store, 1, None, n_slots=2, n_tables=8, signed=False, n_kept=1, seed=0, version=3
    )
    settings = built.settings()
    del settings["version"]
    restored = Tables.restored(store, 1, settings, built.arrays())
    assert restored.version == 3
    rows = check_rows(X)
    team = Team(1)
    np.testing.assert_array_equal(restored.numbers(team, rows), built.numbers(team, rows))
    newest = Tables.build(store, 1, None, n_slots=2, n_tables=8, signed=False, n_kept=1, seed=0)
    assert newest.version == CONTRACT_VERSION
