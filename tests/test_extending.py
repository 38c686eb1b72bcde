"""What a stranger adds from outside, by public names alone: the examples of docs/extending.md."""

import itertools
import json
import math
import pickle
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context

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
from corekernels.linear import HashedLinearRegressor, Loss
from corekernels.neighbors import CandidateMethod, Tuned


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
        index = clone(ck.CoRENeighbors(kernel=MinMax(), n_neighbors=7)).fit(X[:200])
        index.add(X[200:])
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
    recipe = ck.Recipe(n_hashes=32, n_columns=reader.n_columns)
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


# [engine]
class PoolEngine(ck.files.Engine):
    """A pool of processes of this machine."""

    name = "pool"

    def __init__(self, n_workers):
        self.n_workers = n_workers
        self._pool = ProcessPoolExecutor(n_workers, mp_context=get_context("spawn"))

    def results(self, task, shared, arguments):
        futures = {
            self._pool.submit(task, shared, argument): number
            for number, argument in enumerate(arguments)
        }
        for future in as_completed(futures):
            yield futures[future], future.result()

    def close(self):
        self._pool.shutdown(cancel_futures=True)


# [end of the engine]


def test_an_engine(tmp_path, monkeypatch):
    """Its shards, predictions, models and pairs are those of the threads of this process."""
    monkeypatch.chdir(tmp_path)
    X = sparse.random_array((400, 40), density=0.1, format="csr", rng=0)
    y = (X.sum(axis=1) > 2).astype(int)
    for number in range(5):
        rows = slice(80 * number, 80 * number + 80)
        io.write_rows(f"{number}.npz", sparse.vstack([X[rows], X[:9]]), [*y[rows], *y[:9]])
    recipe = ck.Recipe(n_hashes=32, n_columns=40)
    written = {}
    for name, engine in (("pool", PoolEngine(2)), ("local", ck.files.open_engine("local"))):
        with engine:
            plan = ck.files.plan_parts(engine, "*.npz")
            report = ck.files.hash_to_file(
                plan, f"{name}-shards", recipe, shard_rows=50, engine=engine
            )
            assert (report.rows, report.parts) == (445, 10)
            shards = ck.files.plan_parts(engine, f"{name}-shards")
            model = ck.files.train(shards, f"{name}-model", recipe, engine=engine)
            n_rows = ck.files.predict(model, plan, f"{name}-labels", engine=engine)
            assert n_rows == 445
            found = ck.files.near_duplicates(plan, 0.9, parts=f"{name}-parts", engine=engine)
            ck.files.write_pairs(found, f"{name}-pairs")
            (tmp_path / "0.npz").rename("other.npz")
            with pytest.raises(ck.CoREError, match=r"0\.npz"):  # errors come from there as well
                ck.files.evaluate(model, plan, engine=engine)
            (tmp_path / "other.npz").rename("0.npz")
        paths = [*(tmp_path / f"{name}-shards").iterdir()]
        paths += [tmp_path / f"{name}-{kind}" for kind in ("model", "labels", "pairs")]
        written[name] = sorted((p.name.removeprefix(f"{name}-"), p.read_bytes()) for p in paths)
    assert written["pool"] == written["local"]
    assert len(found.pairs) > 9


# [method]
@dataclass(eq=False)
class RandomSample(CandidateMethod):
    """Looks through a random sample of the rows, as large as the recall asks for."""

    name = "random sample"

    order: np.ndarray  # the rows, shuffled
    n_looked_at: int

    def candidates(self, team, rows, queries, alive, factor):
        n = min(len(self.order), math.ceil(self.n_looked_at * factor))
        return np.tile(self.order[:n], (len(rows), 1))

    @property
    def cost(self):
        return 200.0 * self.n_looked_at  # nanoseconds for each row that the kernel ranks

    def grown(self, store, n_jobs):
        more = len(store) / len(self.store)
        order = np.random.default_rng(0).permutation(len(store)).astype(np.int32)
        return replace(
            self, store=store, exact_search=None, order=order,
            n_looked_at=math.ceil(self.n_looked_at * more),
        )  # fmt: skip

    @classmethod
    def tune(cls, tuning):
        n = len(tuning.store)
        rng = np.random.default_rng([tuning.seed, 1])  # rows were held out by the seed alone
        order = rng.permutation(n).astype(np.int32)
        whole = cls(tuning.store, order, n, n_wanted=tuning.n_neighbors)
        sizes = range(n // 50, n + 1, n // 50)
        found = tuning.cheapest([whole.with_settings(n_looked_at=size) for size in sizes])
        if found is None:
            return None
        method, recall = found
        return Tuned(method, f"a sample of {method.n_looked_at} rows", recall)


# [end of the method]


@pytest.mark.filterwarnings("ignore:a sample of:UserWarning")  # much costlier than exact search
class TestSearchMethod:
    """RandomSample: through `CoRENeighbors`, beside a dense oracle."""

    @pytest.fixture
    def X(self):
        rng = np.random.default_rng(0)
        return rng.random((3000, 30)) * (rng.random((3000, 30)) < 0.5)

    @staticmethod
    def check(model, X, Q, gone=()):
        """The promise is kept, distances are true, and what was removed is not found."""
        unit = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (Q, X)]
        K = unit[0] @ unit[1].T
        K[:, list(gone)] = -1
        distances, found = model.kneighbors(Q)
        np.testing.assert_allclose(1 - distances, np.take_along_axis(K, found, 1), atol=1e-12)
        assert (np.diff(distances, axis=1) >= 0).all()
        shares = (1 - distances >= -np.sort(-K, axis=1)[:, [9]] - 1e-12).mean(axis=1)
        error = shares.std() / np.sqrt(len(shares))
        assert shares.mean() >= model.recall - 5 * error
        if not gone:  # rows added are found exactly
            assert abs(shares.mean() - model.estimated_recall_) < 5 * np.sqrt(2) * error

    def test_through_a_life(self, X):
        X, Q = X[:2500], X[2500:]
        index = ck.CoRENeighbors("correlation", method=RandomSample, recall=0.6, random_state=0)
        index = clone(index).fit(X[:2000])
        assert (index.method_, index.reason_[:11]) == ("random sample", "a sample of")
        assert index._snapshot.main.n_looked_at < 0.8 * 2000
        self.check(index, X[:2000], Q)
        again = pickle.loads(pickle.dumps(index))
        np.testing.assert_array_equal(again.kneighbors(Q)[1], index.kneighbors(Q)[1])
        index.add(X[2000:])
        index.remove(range(0, 500))
        self.check(index, X, Q, range(500))

    def test_what_it_cannot_do_is_left_to_exact_search(self, X):
        index = ck.CoRENeighbors(method=RandomSample, recall=1.0, random_state=0)
        with pytest.warns(UserWarning, match="no other method guarantees recall 1"):
            assert index.fit(X).method_ == "exact"

    def test_what_is_no_method_is_refused(self, X, tmp_path):
        for method in (RandomSample.__init__, MinMax, "random sample"):
            with pytest.raises(ParameterError, match=r"or give a class of neighbors\.SearchMethod"):
                ck.CoRENeighbors(method=method).fit(X)
        with pytest.raises(ParameterError, match="random sample proposes no rows that are near by"):
            ck.CoRENeighbors(MinMax(), method=RandomSample).fit(X)
        index = ck.CoRENeighbors(method=RandomSample, recall=0.3, random_state=0).fit(X)
        with pytest.raises(ParameterError, match="a parameter cannot be held by a file"):
            index.save(tmp_path / "index")
