"""The kernels as scikit-learn's own estimators use them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import corekernels as ck

X, y = load_digits(return_X_y=True)
train, test = slice(0, 300), slice(300, 600)


@pytest.mark.parametrize("kernel", [ck.resemblance, ck.core1, ck.core2])
def test_svc_takes_the_function_or_its_matrix(kernel):
    given = SVC(kernel=kernel, C=10).fit(X[train], y[train])
    matrix = SVC(kernel="precomputed", C=10).fit(kernel(X[train]), y[train])
    np.testing.assert_array_equal(given.predict(X[test]), matrix.predict(kernel(X[test], X[train])))


def test_svc_on_sparse_rows():
    sparse_rows = sparse.csr_array(X[train])
    model = SVC(kernel=ck.core1, C=10).fit(sparse_rows, y[train])
    dense = SVC(kernel=ck.core1, C=10).fit(X[train], y[train])
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X[test])), dense.predict(X[test]))


def test_cross_validation_of_a_precomputed_kernel():
    scores = cross_val_score(SVC(kernel="precomputed", C=10), ck.core1(X[:500]), y[:500], cv=3)
    assert scores.mean() > 0.85


def test_pairwise_kernels():
    np.testing.assert_allclose(
        pairwise_kernels(X[:20], X[20:50], metric=ck.core1), ck.core1(X[:20], X[20:50]), atol=1e-12
    )
    np.testing.assert_allclose(
        pairwise_kernels(X[:20], metric=ck.core2, gamma=2.0),
        ck.core2(X[:20], gamma=2.0),
        atol=1e-12,
    )


def test_nystroem_is_exact_with_all_rows_as_components():
    features = Nystroem(kernel=ck.core1, n_components=60, random_state=0).fit_transform(X[:60])
    np.testing.assert_allclose(features @ features.T, ck.core1(X[:60]), atol=1e-6)


def test_kernel_pca():
    given = KernelPCA(3, kernel=ck.core1).fit_transform(X[:80])
    matrix = KernelPCA(3, kernel="precomputed").fit_transform(ck.core1(X[:80]))
    np.testing.assert_allclose(np.abs(given), np.abs(matrix), atol=1e-8)


def test_spectral_clustering():
    two = np.flatnonzero(np.isin(y[:400], [0, 1]))
    labels = SpectralClustering(2, affinity=ck.core1, random_state=0).fit_predict(X[two])
    agreement = np.mean(labels == y[two])
    assert max(agreement, 1 - agreement) > 0.95
