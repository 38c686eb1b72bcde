"""What a stranger adds from outside, by public names alone: the examples of docs/extending.md."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC

import corekernels as ck


# [kernel]
class MinMax(ck.Kernel):
    """Sum of minima over sum of maxima; of values of either sign, columns count by sign."""

    name = "min_max"
    term = "minimum"
    unit_diagonal = True

    def value(self, pair):
        return pair.shared / (pair.own1 + pair.own2 - pair.shared)


# [end of the kernel]


class TestKernel:
    """MinMax: its exact Gram matrix, and exact search through `CoRENeighbors`."""

    @pytest.fixture(params=[np.float32, np.float64])
    def X(self, request):
        rng = np.random.default_rng(0)
        dense = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.3)
        dense[[3, 150]] = 0
        return sparse.csr_array(dense.astype(request.param))

    @staticmethod
    def oracle(X, Y):
        u, v = (np.hstack([np.maximum(Z, 0), np.maximum(-Z, 0)])[:, None] for Z in (X, Y))
        larger = np.maximum(u, v.swapaxes(0, 1)).sum(axis=2)
        return np.minimum(u, v.swapaxes(0, 1)).sum(axis=2) / np.where(larger > 0, larger, 1)

    def test_exact_gram_matrix(self, X, tmp_path):
        K = ck.gram(X, kernel=MinMax())
        expected = self.oracle(X.toarray(), X.toarray())
        assert K.dtype == X.dtype
        # sums of at most 40 terms, of rows whose own sums are above 1
        np.testing.assert_allclose(K, expected, rtol=0, atol=100 * np.finfo(X.dtype).eps)
        assert np.linalg.eigvalsh(expected).min() > -1e-12
        kept = ck.gram_to_file(tmp_path / "K.npy", X[:20], X, MinMax())
        np.testing.assert_array_equal(kept, ck.gram(X[:20], X, MinMax()))

    def test_exact_search(self, X):
        index = clone(ck.CoRENeighbors(kernel=MinMax(), n_neighbors=7)).fit(X[:200]).add(X[200:])
        index.remove([5, 250])
        K = self.oracle(X.toarray(), X.toarray())
        K[:, [5, 250]] = -1
        for model in (index, pickle.loads(pickle.dumps(index))):
            distances, found = model.kneighbors(X)
            nearest = -np.sort(-K, axis=1)[:, :7]
            tolerance = 100 * np.finfo(X.dtype).eps
            np.testing.assert_allclose(1 - distances, nearest, rtol=0, atol=tolerance)
            np.testing.assert_allclose(np.take_along_axis(K, found, 1), nearest, atol=tolerance)

    def test_in_scikit_learn(self, X):
        y = (X[:, [0]] > 0).toarray().ravel()
        K = ck.gram(X, kernel=MinMax())
        model = SVC(kernel="precomputed").fit(K, y)
        called = SVC(kernel=lambda X, Y: ck.gram(X, Y, MinMax())).fit(X, y)
        np.testing.assert_array_equal(called.predict(X), model.predict(K))
