"""Levels beside their definition, and their resemblance beside the min-max kernel, densely."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck
from corekernels.errors import DataError, ParameterError
from support.oracles import dense, min_max
from support.strategies import messy_csr


@parametrize_with_checks([ck.Levels(), ck.Levels(4, scale="std", signs=True, random_state=0)])
def test_estimator_checks(estimator, check):
    check(estimator)


def expected_levels(X, model):
    """The definition: level j of column i if j - 1 + r(i) < v / d, clipped, negative ones apart."""
    unit = model.scale_ / model.n_levels
    numbers = np.arange(model.n_levels)
    parts = [np.maximum(X, 0), np.maximum(-X, 0)] if model.signs else [X]
    sides = np.stack(parts, axis=2) / unit[:, None]
    return (numbers + model.offsets_[:, None, None] < sides[..., None]).reshape(len(X), -1)


@settings(max_examples=60, deadline=None)
@given(X=messy_csr(), signs=st.booleans(), scale=st.sampled_from(["max", "std"]))
def test_real_values_by_the_definition(X, signs, scale):
    X = X if signs else abs(X)
    model = ck.Levels(5, scale=scale, signs=signs, random_state=1)
    Z = model.fit_transform(X)
    assert Z.dtype == X.dtype
    assert Z.has_canonical_format
    np.testing.assert_array_equal(Z.toarray(), expected_levels(dense(X), model))


@settings(max_examples=60, deadline=None)
@given(X=messy_csr(), signs=st.booleans())
def test_counts_are_exact(X, signs):
    X.data = np.round(X.data % 40) * np.sign(X.data)
    X.sum_duplicates()
    X = X if signs else abs(X)
    Z = ck.Levels(None, signs=signs, max_level=500).fit_transform(X)  # 12 of 39 may be summed
    assert set(Z.data) <= {1}
    K, expected = ck.resemblance(Z.astype(np.float64)), min_max(dense(X), dense(X))
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-12)


def images(n_rows, n_columns, rng):
    """Rows of which a fifth of the values are not 0, and similar in pairs."""
    X = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.2)
    X[1::2] = np.where(rng.random(X[1::2].shape) < 0.7, X[::2], X[1::2])
    return X


def test_real_values_are_right_on_average():
    rng = np.random.default_rng(0)
    X = images(40, 784, rng)
    scaled = X / ck.Levels().fit(X).scale_
    expected = min_max(scaled, scaled)
    pairs = np.triu_indices(40, 1)
    errors = np.array(
        [
            (ck.resemblance(ck.Levels(random_state=seed).fit_transform(X)) - expected)[pairs]
            for seed in range(30)
        ]
    )
    # of u = v / d levels, int(u) or one more: a variance of at most 1/4 for each column in use
    n_used, n_levels = 784 * 0.36, 16 * 784 * 0.36 * 0.6
    assert np.sqrt((errors**2).mean()) <= np.sqrt(n_used / 4) / n_levels
    means = errors.mean(axis=1)  # by seed: pairs of one seed share their offsets
    assert abs(means.mean()) <= 4 * means.std(ddof=1) / np.sqrt(len(means))


def test_hashed_counts_are_within_their_error_bars():
    rng = np.random.default_rng(1)
    counts = rng.poisson(images(200, 100, rng) * 6)
    X = ck.Levels(None).fit_transform(counts)
    i, j = np.arange(0, 200, 2), np.arange(1, 200, 2)
    exact = min_max(counts, counts)[i, j]
    covered = []
    for seed in range(10):
        S = ck.CoREHasher("resemblance", 512, random_state=seed).fit(X).sketch(X)
        estimates, errors = S.estimate_pairs(i, j)
        covered.append(abs(estimates - exact) <= 1.96 * errors)
    # a thousand intervals of 95 %: 5 standard deviations are 3.4 %
    assert 0.916 <= np.mean(covered) <= 0.984


def test_later_rows_fit():
    model = ck.Levels(None, max_level=9).fit([[1, 2]])
    assert model.transform([[9, 0]]).shape == (1, 18)
    model = ck.Levels(4, random_state=0).fit([[1.0, 0], [2, 0]])
    assert model.scale_.tolist() == [2, 1]
    assert model.transform([[50.0, 3]]).nnz == 8  # clipped; nothing is known of the second column


def test_threads_and_formats_do_not_matter():
    X = images(3000, 60, np.random.default_rng(2))
    Z = ck.Levels(random_state=0, n_jobs=1).fit_transform(X)
    for other in (X, sparse.csc_array(X), sparse.coo_matrix(X)):
        found = ck.Levels(random_state=0, n_jobs=3).fit_transform(other)
        np.testing.assert_array_equal(found.indices, Z.indices)
        np.testing.assert_array_equal(found.indptr, Z.indptr)


def test_wide_rows_have_wide_columns():
    X = sparse.csr_array(([3.0, 2.0], [5, 2**55 - 1], [0, 1, 2]), shape=(2, 2**55))
    Z = ck.Levels(None).fit_transform(X)
    assert Z.shape == (2, 255 * 2**55)
    last = 255 * (2**55 - 1)
    assert Z.indices.tolist() == [1275, 1276, 1277, last, last + 1]
    with pytest.raises(ParameterError, match="too many to be named"):
        ck.Levels(None).fit(X).get_feature_names_out()
    with pytest.raises(ParameterError, match="max_level: got 600"):
        ck.Levels(None, max_level=600).fit(X)


def test_names_of_columns():
    model = ck.Levels(2, signs=True, random_state=0).fit([[1.0, -1.0]])
    assert model.get_feature_names_out(["a", "b"]).tolist() == [
        "a_1", "a_2", "a_-1", "a_-2", "b_1", "b_2", "b_-1", "b_-2"
    ]  # fmt: skip
    assert len(ck.Levels(None).fit([[1, 2]]).get_feature_names_out()) == 510


def test_refusals_name_row_and_column():
    with pytest.raises(DataError, match=r"row 1, column 2 has -4; give them .* signs=True"):
        ck.Levels().fit([[1, 2, 0], [0, 3, -4]])
    counts = ck.Levels(None).fit([[1, 2, 0]])
    with pytest.raises(DataError, match=r"row 1, column 2 has 0\.5, which is no count"):
        counts.transform([[1, 2, 0], [0, 3, 0.5]])
    with pytest.raises(DataError, match="row 1, column 0 has 256, above max_level 255"):
        counts.transform([[1, 2, 0], [256, 3, 1]])
    with pytest.raises(DataError, match=r"row 0, column 1 has -0\.5, which is no count"):
        ck.Levels(None, signs=True).fit([[1, -0.5]])
    with pytest.raises(ParameterError, match="n_levels: got 0"):
        ck.Levels(0).fit([[1.0]])
    with pytest.raises(ParameterError, match=r"max_level: got 2\.5"):
        ck.Levels(None, max_level=2.5).fit([[1.0]])
    with pytest.raises(ParameterError, match="scale: got 'median'"):
        ck.Levels(scale="median").fit([[1.0]])


def test_in_a_pipeline():
    rng = np.random.default_rng(3)
    X, y = rng.poisson(2, (200, 30)), rng.integers(0, 2, 200)
    X[y == 1, :5] += 3
    model = make_pipeline(ck.Levels(None), ck.CoREClassifier("resemblance", 256, random_state=0))
    assert clone(model).fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.8
