"""Kernels with a parameter: gamma is checked, kept with what was made with it, and asked for."""

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import ParameterError, RecipeMismatch
from corekernels.kernel_table import HASHED_KERNELS, KERNELS, exact_kernel
from support import oracles
from support.command_line import as_json

WITHOUT = [name for name, kernel in KERNELS.items() if kernel.gamma is None]


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.poisson(0.6, (40, 50)) * rng.normal(size=(40, 50))


@pytest.mark.parametrize("gamma", [0, 0.5, 7])
def test_exact_values_everywhere(X, gamma, tmp_path):
    expected = oracles.core_rbf(X, X, gamma)
    np.testing.assert_allclose(ck.core_rbf(X, gamma=gamma), expected, atol=1e-12)
    assert ck.core_rbf(X[0], X[1], gamma=gamma) == pytest.approx(expected[0, 1])
    kept = ck.gram_to_file(tmp_path / "K.npy", X, kernel="core_rbf", gamma=gamma)
    np.testing.assert_allclose(kept, expected, atol=1e-12)
    distances, _ = ck.CoRENeighbors("core_rbf", 5, gamma=gamma).fit(X).kneighbors(X)
    np.testing.assert_allclose(1 - distances, -np.sort(-expected, axis=1)[:, :5], atol=1e-6)
    assert exact_kernel("core_rbf", gamma).gamma == gamma


def test_gamma_zero_is_the_resemblance_and_the_default_is_two(X):
    np.testing.assert_allclose(ck.core_rbf(X, gamma=0), ck.resemblance(X), atol=1e-12)
    np.testing.assert_array_equal(ck.core_rbf(X), ck.core_rbf(X, gamma=2))
    assert ck.Recipe("core_rbf").gamma == 2
    assert ck.Recipe("core_rbf") == ck.Recipe("core_rbf", gamma=2)


def test_it_is_positive_semi_definite(X):
    for gamma in (0.1, 2, 50):
        assert np.linalg.eigvalsh(ck.core_rbf(X, gamma=gamma)).min() > -1e-10


@pytest.mark.parametrize("name", WITHOUT)
def test_a_gamma_of_a_kernel_without_one_is_refused(X, name):
    calls = [lambda: ck.CoRENeighbors(name, gamma=1).fit(X)]
    if name in HASHED_KERNELS:
        calls += [
            lambda: ck.Recipe(name, gamma=1),
            lambda: ck.CoREHasher(name, gamma=1.0).fit(X),
            lambda: ck.plan(0.1, kernel=name, gamma=1.0),
        ]
    for call in calls:
        with pytest.raises(ParameterError, match=f"but {name} has no gamma; leave it out"):
            call()


@pytest.mark.parametrize("gamma", [-1, float("nan"), float("inf"), "2", True])
def test_a_gamma_that_is_no_number_from_zero_is_refused(X, gamma):
    for call in (
        lambda: ck.core_rbf(X, gamma=gamma),
        lambda: ck.Recipe("core_rbf", gamma=gamma),
        lambda: ck.CoRENeighbors("core_rbf", gamma=gamma).fit(X),
    ):
        with pytest.raises(ParameterError, match=r"gamma: got .*; give a finite number >= 0"):
            call()


def test_hashed_the_largest_gamma_is_limited():
    with pytest.raises(ParameterError, match=r"gamma: got 10001\.0; hashed, it is 10000 at most"):
        ck.Recipe("core_rbf", gamma=10_001)


def test_signatures_and_recipes_keep_it(X, tmp_path):
    hasher = ck.CoREHasher("core_rbf", 64, gamma=3, random_state=0).fit(X)
    S = hasher.sketch(X)
    S.save(tmp_path / "s")
    loaded = ck.Signatures.load(tmp_path / "s")
    assert (loaded.recipe, loaded.recipe.gamma) == (S.recipe, 3)
    np.testing.assert_array_equal(loaded.estimate(), S.estimate())
    other = ck.CoREHasher("core_rbf", 64, gamma=4, random_state=0).fit(X).sketch(X)
    with pytest.raises(RecipeMismatch, match=r"gamma 3\.0 and 4\.0"):
        ck.concatenate([S, other])
    fields = S.recipe.asdict()
    assert ck.Recipe.fromdict(fields) == S.recipe
    for changed in ({**fields, "gamma": None}, {k: v for k, v in fields.items() if k != "gamma"}):
        with pytest.raises(ParameterError, match="fields are missing or unknown"):
            ck.Recipe.fromdict(changed)


def test_models_and_indexes_keep_it(X, tmp_path):
    y = np.arange(40) % 2
    for model in (
        ck.CoREClassifier("core_rbf", 64, gamma=3, random_state=0).fit(X, y),
        ck.CoRERegressor("core_rbf", 64, gamma=3, random_state=0).fit(X, y),
    ):
        model.save(tmp_path / "m")
        loaded = ck.load_model(tmp_path / "m")
        assert loaded.recipe_.gamma == 3
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    index = ck.CoRENeighbors("core_rbf", 3, gamma=3).fit(X)
    index.save(tmp_path / "i")
    np.testing.assert_array_equal(
        ck.CoRENeighbors.load(tmp_path / "i").kneighbors(X)[0], index.kneighbors(X)[0]
    )


def test_plans_know_it():
    """One row with itself has variance 1/2 per hash, whatever gamma is; far pairs depend on it."""
    near, far = (ck.plan(0.05, kernel="core_rbf", R=1, rho=1, gamma=g, n_bits=None) for g in (1, 8))
    assert near.n_hashes == far.n_hashes == pytest.approx(1.96**2 * 0.5 / 0.05**2, rel=0.01)
    assert (near.gamma, ck.plan(0.1, kernel="core1").gamma) == (1, None)
    wide, narrow = (ck.plan(0.05, kernel="core_rbf", R=1, rho=0, gamma=g) for g in (0.1, 8))
    assert wide.n_hashes < narrow.n_hashes


def test_commands_pass_it_on(in_digits):
    X, _ = ck.io.read_rows("train.svm")
    as_json("hash train.svm s --kernel core_rbf --gamma 3 --n-hashes 32")
    assert ck.Signatures.load("s").recipe.gamma == 3
    as_json("kernel train.svm K.npy --kernel core_rbf --gamma 3")
    np.testing.assert_allclose(np.load("K.npy"), ck.core_rbf(X, gamma=3), atol=1e-12)
    as_json("index train.svm i --kernel core_rbf --gamma 3")
    assert ck.CoRENeighbors.load("i").gamma == as_json("info i")["gamma"] == 3
    as_json("train train.svm m --kernel core_rbf --gamma 3 --n-hashes 32")
    assert ck.load_model("m").recipe_.gamma == 3
    assert as_json("plan --error 0.1 --kernel core_rbf --gamma 3")["gamma"] == 3
