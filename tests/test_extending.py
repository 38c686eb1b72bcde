"""What a stranger adds from outside, by public names alone: the examples of docs/extending.md."""

import itertools
import json
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.svm import SVC

import corekernels as ck
from corekernels import io
from corekernels.errors import DataTypeError, ParameterError
from corekernels.files.readers import recipe_for
from corekernels.linear import HashedLinearRegressor, Loss


# [loss]
class Huber(Loss):
    """cost e^2 for errors e of at most delta, cost delta (2 |e| - delta) for larger ones."""

    delta: float = 1.0

    label = "Huber loss"
    predicts = "values"
    solvers = ("descent", "newton")
    shrinks = True  # rows with large errors have their dual variables at a bound

    def value(self, score, target, cost):
        error = abs(score - target)
        if error <= self.delta:
            return cost * error * error
        return cost * self.delta * (2.0 * error - self.delta)

    def slope(self, score, target, cost):
        return 2.0 * cost * min(max(score - target, -self.delta), self.delta)

    def curvature(self, score, target, cost):
        return 2.0 * cost if abs(score - target) <= self.delta else 0.0

    def conjugate(self, dual, target, cost):
        return dual * dual / (4.0 * cost) - dual * target

    def dual_bounds(self, target, cost):
        return -2.0 * cost * self.delta, 2.0 * cost * self.delta

    def dual_slope(self, score, target, cost, dual):
        return score - target + dual / (2.0 * cost)

    def best_dual(self, score, target, cost, dual, square):
        best = dual - (score - target + dual / (2.0 * cost)) / (square + 0.5 / cost)
        most = 2.0 * cost * self.delta
        return min(max(best, -most), most)


# [end]


class TooLittle:
    """No loss."""


@pytest.fixture(scope="module")
def rows():
    """Rows and values, some of them far off."""
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    y[::17] += 20
    return np.maximum(X, 0), y


def dense_solution(S, y, loss, C):
    """Weights and intercept that minimise the objective, in double precision."""
    X = np.column_stack([S.to_csr().toarray(), np.ones(len(S))]).astype(np.float64)
    X = X[:, X.any(axis=0)]
    middle = np.sort(y)[(len(y) - 1) // 2]  # the regressor's starting point for the intercept

    def objective(w):
        errors = np.abs(X @ w + middle - y)
        small = errors <= loss.delta
        values = np.where(small, errors**2, loss.delta * (2 * errors - loss.delta))
        slopes = 2 * np.clip(X @ w + middle - y, -loss.delta, loss.delta)
        return 0.5 * w @ w + C * values.sum(), w + C * X.T @ slopes

    best = minimize(objective, np.zeros(X.shape[1]), jac=True, options={"gtol": 1e-9})
    return best.fun, X @ best.x + middle


@pytest.mark.parametrize("solver", ["auto", "descent", "newton"])
@pytest.mark.parametrize("delta", [0.5, 3.0])
def test_a_loss(rows, solver, delta):
    """Against the dense optimum: the objective is within tol, so are the predictions.

    The objective grows by half the squared distance from the best weights at least; a row's
    score, with the constant column, moves by at most the root of two of that distance.
    """
    X, y = rows
    loss, tol = Huber(delta), 1e-6
    model = ck.CoRERegressor(
        n_hashes=32, loss=loss, C=0.5, tol=tol, solver=solver, random_state=0
    ).fit(X, y)
    least, expected = dense_solution(model.sketch(X), y, loss, 0.5)
    distance = np.sqrt(2 * tol * least)
    np.testing.assert_allclose(model.predict(X), expected, atol=np.sqrt(2) * distance + 1e-5)
    assert np.median(np.abs(model.predict(X) - y)) < 1
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_loss_is_what_its_parameters_say(rows):
    X, y = rows
    S = ck.CoREHasher(n_hashes=32, random_state=0).fit(X).sketch(X)
    few, many = (
        HashedLinearRegressor(Huber(delta), random_state=0).fit(S, y).predict(S)
        for delta in (0.1, 1e6)
    )
    squared = HashedLinearRegressor(random_state=0).fit(S, y).predict(S)
    assert np.abs(many - squared).max() < 0.05 * np.abs(few - squared).max()
    assert repr(Huber(2)) == "Huber(delta=2)"


def test_what_is_no_loss_is_refused(rows, tmp_path):
    X, y = rows
    with pytest.raises(
        ParameterError, match=r"choose one of squared_error, or give a linear\.Loss"
    ):
        ck.CoRERegressor(n_hashes=8, loss=TooLittle()).fit(X, y)
    with pytest.raises(ParameterError, match="the Huber loss is for values, and classes are to be"):
        ck.CoREClassifier(n_hashes=8, loss=Huber()).fit(X, y > 0)
    with pytest.raises(TypeError, match="Half: a loss of its kind needs best_dual, conjugate"):

        class Half(Loss):
            label = "half a loss"
            predicts = "values"
            solvers = ("descent",)

            def value(self, score, target, cost):
                return cost * abs(score - target)

    model = ck.CoRERegressor(n_hashes=8, loss=Huber(), random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="loss: a file cannot hold Huber"):
        model.save(tmp_path / "model.ck")


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


# [format]
class JsonRows(io.FileRows):
    """Rows as lists of JSON, one per line: a label, columns, values."""

    format = "jsonrows"

    def __init__(self, path, options):
        super().__init__(path, options)
        self._labels, largest = options.labels, -1
        for _, columns, _ in self._lines():
            largest = max([largest, *columns])
        self.n_columns = options.n_columns or largest + 1

    def _lines(self):
        with self.open_file() as file:
            yield from map(json.loads, file)

    def batches(self, first_row=0):
        lines = itertools.islice(self._lines(), first_row, None)
        while some := list(itertools.islice(lines, 1000)):
            labels, columns, values = zip(*some, strict=True)
            ends = np.cumsum([0, *map(len, columns)])
            arrays = np.concatenate(values), np.concatenate(columns).astype(int), ends
            X = sparse.csr_array(arrays, shape=(len(some), self.n_columns))
            y = np.array(labels) if self._labels else None
            yield io.Batch.of(X, y, first_row, name=self.name)
            first_row += len(some)


class JsonRowsWriter:
    """Writes such lines; without labels, null stands in their place."""

    def __init__(self, file, target):
        self._file = file

    def write(self, rows, y):
        X = rows.matrix()
        for row in range(len(rows)):
            some = slice(X.indptr[row], X.indptr[row + 1])
            label = None if y is None else y[row].item()
            line = [label, X.indices[some].tolist(), X.data[some].tolist()]
            self._file.write(json.dumps(line).encode() + b"\n")

    def finish(self):
        """Nothing stands at the end."""

    def close(self):
        """Nothing is held."""


io.add_format(io.Format("jsonrows", (".jsonrows",), (), JsonRows, JsonRowsWriter))
# [end of the format]


def test_a_file_format(tmp_path):
    """Files of it are written, detected and read by every job as those of the package."""
    X = sparse.random_array((2500, 40), density=0.05, format="csr", rng=0)
    assert np.diff(X.indptr).min() == 0
    y = np.arange(2500) % 3
    path = tmp_path / "rows.jsonrows"
    io.write_rows(path, X, y)
    assert io.detect(path) == "jsonrows"
    for options in ({}, {"batch_rows": 700}, {"n_columns": 50, "labels": False}):
        found, labels = io.read_rows(path, **options)
        np.testing.assert_array_equal(found.toarray()[:, :40], X.toarray())
        assert labels is None if "labels" in options else labels.tolist() == y.tolist()
    reader = ck.files.open_reader(path)
    recipe = recipe_for(reader, n_hashes=32)
    ck.files.hash_to_file(reader, tmp_path / "rows.sig", recipe)
    S, labels = ck.files.load_signatures(tmp_path / "rows.sig")
    hasher = ck.CoREHasher(n_hashes=32, random_state=0).fit(X)
    for name, array in hasher.sketch(X).arrays().items():
        np.testing.assert_array_equal(S.arrays()[name], array)
    assert labels.tolist() == y.tolist()
    ck.files.convert(ck.files.open_reader(path), tmp_path / "rows.npz")
    assert abs(io.read_rows(tmp_path / "rows.npz")[0] - X).nnz == 0
    with open(path, "a") as file:
        file.write('[0, [3], ["three"]]\n')
    with pytest.raises(DataTypeError, match=r"rows\.jsonrows: "):
        io.read_rows(path)
