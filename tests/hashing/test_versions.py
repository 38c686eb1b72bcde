"""Rows hashed by version 3 of the contract, which differs from version 4 for many columns."""

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels._core.team import Team
from corekernels._core.validation import check_rows
from corekernels.kernel_table import CORE1
from corekernels.neighbors.candidates.lsh import Tables
from corekernels.neighbors.store import make_store
from corekernels.signatures import sketch

N_COLUMNS = 10**6


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(N_COLUMNS, (30, 20), replace=False), axis=1)
    indptr = np.arange(0, 601, 20)
    return sparse.csr_array((rng.random(600), columns.ravel(), indptr), shape=(30, N_COLUMNS))


def old_recipe(**changes):
    return ck.Recipe(n_hashes=16, n_columns=N_COLUMNS, version=3, **changes)


def test_versions_differ_for_many_columns_only(X):
    new = ck.Recipe(n_hashes=16, n_columns=N_COLUMNS)
    assert (new.version, old_recipe().version) == (4, 3)
    assert (sketch(X, new, 1).codes != sketch(X, old_recipe(), 1).codes).any()
    assert ck.Recipe(n_columns=2**16).version == 3
    assert ck.Recipe(n_columns=N_COLUMNS, scheme="independent").version == 3


@pytest.mark.parametrize("shard_rows", [None, 7])
def test_files_are_extended_in_their_version(X, tmp_path, shard_rows):
    rows, target = tmp_path / "rows.npz", tmp_path / "rows.sig"
    sparse.save_npz(rows, X)
    reader = ck.files.open_reader(rows)
    options = {"shard_rows": shard_rows, "progress": False}
    ck.files.hash_to_file(reader, target, old_recipe(), **options)
    new = ck.files.recipe_for(reader, n_hashes=16)
    assert new.version == 4
    ck.files.hash_to_file(reader, target, new, append=True, **options)
    S, _ = ck.files.load_signatures(target)
    assert S.recipe == old_recipe()
    np.testing.assert_array_equal(S.codes, np.vstack([sketch(X, S.recipe, 1).codes] * 2))


def test_models_learn_from_old_signatures(X):
    S, y = sketch(X, old_recipe(), 1), np.arange(30) % 2
    model = ck.CoREClassifier(n_hashes=16, random_state=0).fit_signatures(S, y)
    assert model.recipe_.version == 3
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
    assert newest.version == 4
