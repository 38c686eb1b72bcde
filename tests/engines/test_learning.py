"""Models learned by parts come as near to the best as asked, whatever the parts and the engine."""

import numpy as np
import pytest

import corekernels as ck
from corekernels import files, io
from corekernels.errors import DataError, FileError, ParameterError
from corekernels.files import part_sums
from corekernels.files.engines import LocalEngine
from corekernels.files.readers import recipe_for
from corekernels.io.job_folder import unfinished_folder
from corekernels.linear.problem import OneVsRest
from support.command_line import as_json, run

TOL = 1e-3
N_ROWS = 600
N_SPARK = 100


def learned(engine, plan, target, recipe, **options):
    """A model learned by parts, and its rounds."""
    rounds = []
    model = files.train(
        plan, target, recipe, engine=engine, on_round=rounds.append, progress=False, **options
    )
    return model, rounds


def gap_of(rounds):
    """The largest gap at the end of a block."""
    return max({one.block: one.gap for one in rounds}.values())


@pytest.fixture(scope="module")
def hashed(tmp_path_factory, digits):
    """Shard folders of digits: `shuffled` in 4, `sorted` by label in 16; two classes in 3."""
    X, y = digits
    base = tmp_path_factory.mktemp("hashed")
    recipe = ck.Recipe(n_columns=64, n_hashes=64, n_bits=4)
    orders = {"shuffled": np.arange(N_ROWS), "sorted": np.argsort(y[:N_ROWS], kind="stable")}
    for (name, order), n_parts in zip(orders.items(), (4, 16), strict=True):
        io.write_rows(base / f"{name}.npz", X[order], y[order])
        reader = files.open_reader(base / f"{name}.npz")
        shard_rows = -(-N_ROWS // n_parts)
        files.hash_to_file(reader, base / name, recipe, shard_rows=shard_rows)
    io.write_rows(base / "halves.npz", X[:200], y[:200] < 5)
    files.hash_to_file(
        files.open_reader(base / "halves.npz"), base / "halves", recipe, shard_rows=70
    )
    return base, recipe


def objectives(model, S, y, C, weights=None):
    """The objective of each of a model's problems."""
    X = S.to_csr()
    coefficients, biases = model.linear_.coef_.astype(float), model.linear_.intercept_
    scores = X @ coefficients.T + biases
    found = []
    for number, label in enumerate(model.classes_):
        signs = np.where(y == label, 1, -1)
        margins = signs * scores[:, number]
        if model.loss == "log_loss":
            losses = np.logaddexp(0, -margins)
        else:
            losses = np.maximum(0, 1 - margins) ** 2
        if weights is not None:
            losses = losses * np.where(signs > 0, weights[number], 1)
        square = (coefficients[number] ** 2).sum() + biases[number] ** 2
        found.append(0.5 * square + C * losses.sum())
    return np.array(found)


@pytest.mark.parametrize("name", ["shuffled", "sorted"])
@pytest.mark.parametrize(("loss", "C"), [("squared_hinge", 1.0), ("log_loss", 10.0)])
def test_objectives_are_within_the_tolerance_of_the_best(local, hashed, tmp_path, name, loss, C):
    base, recipe = hashed
    plan = files.plan_parts(local, base / name)
    options = {"loss": loss, "C": C, "tol": TOL}
    _, rounds = learned(local, plan, tmp_path / "model", recipe, **options)
    assert gap_of(rounds) <= TOL
    assert rounds[-1].objective > 0
    S, y = files.load_signatures(base / name)
    best = ck.CoREClassifier(n_hashes=64, n_bits=4, loss=loss, C=C, tol=1e-5, random_state=0)
    best.fit_signatures(S, y)
    model = ck.load_model(tmp_path / "model")
    mine, theirs = objectives(model, S, y, C), objectives(best, S, y, C)
    # each is within its tolerance of the same optimum; weights are rounded to single precision
    assert (mine <= theirs * (1 + TOL + 1e-5)).all()
    assert (theirs <= mine * (1 + 2e-5)).all()
    assert model.linear_.n_rows_ == N_ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_the_model_does_not_depend_on_the_engine(engine, local, hashed, tmp_path):
    base, recipe = hashed
    for name, some in (("one", local), ("two", engine)):
        plan = files.plan_parts(some, base / "halves")
        learned(some, plan, tmp_path / name, recipe, max_iter=3)  # a step
        learned(some, plan, tmp_path / f"{name}-average", recipe, loss="hinge", max_iter=3)
    for end in ("", "-average"):
        one, two = (tmp_path / f"{name}{end}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_class_weights_and_two_classes(local, digits, tmp_path):
    X, y = digits
    few = (y == 3) | ((y == 8) & (np.arange(len(y)) % 4 == 0))
    words = np.where(y[few] == 3, "three", "eight")
    (tmp_path / "rows").mkdir()
    for number, some in enumerate(np.array_split(np.flatnonzero(few), 3)):
        labels = np.where(y[some] == 3, "three", "eight")
        io.write_rows(tmp_path / "rows" / f"{number}.npz", X[some], labels)
    plan = files.plan_parts(local, tmp_path / "rows")
    recipe = recipe_for(plan, n_hashes=32, n_bits=4)
    options = {"class_weight": "balanced", "tol": 1e-4}
    model, _ = learned(local, plan, tmp_path / "model", recipe, **options)
    assert (model.linear_.n_rows_, len(model.classes_)) == (few.sum(), 2)
    best = ck.CoREClassifier(
        n_hashes=32, n_bits=4, class_weight="balanced", tol=1e-6, random_state=0
    ).fit(X[few], words)
    found = ck.load_model(tmp_path / "model").decision_function(X[few])
    expected = best.decision_function(X[few])
    # |w - best|^2 <= 2 gap (strong convexity), and rows have unit length; the intercept the same
    objective = 0.5 * (best.linear_.coef_.astype(float) ** 2).sum() + 1000
    assert np.abs(found - expected).max() <= 2 * np.sqrt(2 * 1.01e-4 * objective)


class Killed(BaseException):
    pass


class Dying(LocalEngine):
    """An engine whose driver dies when it asks for sums for the n-th time."""

    def __init__(self, n_calls):
        super().__init__(workers=1)
        self.left = n_calls

    def total(self, *arguments):
        self.left -= 1
        if self.left == 0:
            raise Killed
        return super().total(*arguments)


@pytest.mark.parametrize("n_calls", [1, 2, 9, 30])
def test_a_killed_driver_is_gone_on_with_to_the_same_bytes(local, hashed, tmp_path, n_calls):
    base, recipe = hashed
    plan = files.plan_parts(local, base / "shuffled")
    with pytest.raises(Killed):
        learned(Dying(n_calls), plan, tmp_path / "model", recipe, tol=TOL)
    assert not (tmp_path / "model").exists()
    _, rounds = learned(local, plan, tmp_path / "model", recipe, tol=TOL, resume=True)
    _, whole = learned(local, plan, tmp_path / "other", recipe, tol=TOL)
    assert gap_of(rounds) <= TOL
    assert len(rounds) < len(whole) or n_calls < 3
    assert (tmp_path / "model").read_bytes() == (tmp_path / "other").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "other"]


def test_a_resumed_run_must_be_of_the_same_job(local, hashed, tmp_path):
    base, recipe = hashed
    plan = files.plan_parts(local, base / "shuffled")
    with pytest.raises(Killed):
        learned(Dying(9), plan, tmp_path / "model", recipe, tol=TOL)
    with pytest.raises(FileError, match=r"the unfinished run had options .*'C': 1\.0"):
        learned(local, plan, tmp_path / "model", recipe, C=2.0, tol=TOL, resume=True)


def test_what_a_killed_driver_left_must_fit(local, hashed, tmp_path):
    base, recipe = hashed
    plan = files.plan_parts(local, base / "shuffled")
    with pytest.raises(Killed):
        learned(Dying(4), plan, tmp_path / "model", recipe)
    path = unfinished_folder(tmp_path / "model") / "parts" / "block-0"
    arrays, about = io.load_arrays(path, "part", 1, mmap=False)
    cut = {name: array[:-1].copy() for name, array in arrays.items()}
    io.save_arrays(path, "part", 1, cut, about)
    with pytest.raises(FileError, match=r"block-0: damaged .* are of another type or shape"):
        learned(local, plan, tmp_path / "model", recipe, resume=True)


def test_a_part_that_changes_while_it_is_learned_from(local, hashed):
    base, _ = hashed
    [part, *_] = files.plan_parts(local, base / "shuffled").parts
    problem = OneVsRest("hinge", 1.0, np.ones(10))
    job = part_sums.LearnJob("key", problem, 1.0, np.arange(10), 16, 0)
    job.training_set(part)
    with pytest.raises(DataError, match="changed while it was learned from"):
        job._replace(n_codes=3).training_set(part)


@pytest.mark.parametrize("name", ["shuffled", "sorted"])
def test_the_hinge_loss_by_an_average(local, hashed, tmp_path, name):
    base, recipe = hashed
    plan = files.plan_parts(local, base / name)
    model, rounds = learned(local, plan, tmp_path / "model", recipe, loss="hinge", tol=1e-3)
    assert [one.block for one in rounds] == [0, 1]
    S, y = files.load_signatures(base / name)
    best = ck.CoREClassifier(n_hashes=64, n_bits=4, loss="hinge", tol=1e-4, random_state=0)
    best.fit_signatures(S, y)
    mine, theirs = (
        hinge_objectives(found, S, y) for found in (ck.load_model(tmp_path / "model"), best)
    )
    # the gap that is reported bounds the distance from the optimum: a dual objective lies below it
    assert (mine * (1 - gap_of(rounds)) <= theirs * (1 + 1e-4)).all()
    assert model.loss == "hinge"
    if name == "shuffled":  # parts that are alike are right about most rows
        assert (model.linear_.predict(S) == y).mean() > 0.9


def test_the_average_of_one_part_is_its_model(local, hashed, tmp_path):
    base, recipe = hashed
    S, y = files.load_signatures(base / "shuffled")
    S.save(tmp_path / "whole", labels=y)
    plan = files.plan_parts(local, tmp_path / "whole")
    _, rounds = learned(local, plan, tmp_path / "model", recipe, loss="hinge", tol=1e-3)
    assert gap_of(rounds) <= 1e-3


def hinge_objectives(model, S, y):
    scores = model.linear_.decision_function(S)
    weights, biases = model.linear_.coef_.astype(float), model.linear_.intercept_
    signs = np.where(y[:, None] == model.classes_, 1, -1)
    losses = np.maximum(0, 1 - signs * scores).sum(axis=0)
    return 0.5 * ((weights**2).sum(axis=1) + biases**2) + losses


def test_what_is_refused(local, hashed, digits, tmp_path):
    base, recipe = hashed
    plan = files.plan_parts(local, base / "shuffled")
    with pytest.raises(ParameterError, match="loss"):
        learned(local, plan, tmp_path / "model", recipe, loss="square")
    X, y = digits
    io.write_rows(tmp_path / "one.npz", X[y == 3], y[y == 3])
    plan = files.plan_parts(local, tmp_path / "one.npz")
    with pytest.raises(DataError, match="holds one class only"):
        learned(local, plan, tmp_path / "model", recipe_for(plan, n_hashes=4))


def test_the_commands(hashed, digits, tmp_path):
    base, _ = hashed
    options = "--n-hashes 32 --n-bits 4 --tol 0.01 --engine local"
    found = as_json(f"train {base}/shuffled.npz {tmp_path}/parts {options}")
    assert (found["rows"], found["classes"]) == (N_ROWS, 10)
    assert {"objective", "gap", "seconds"} <= set(found["rounds"][0])
    merged = as_json(f"train {base}/shuffled.npz {tmp_path}/merged {options} --merge")
    one = as_json(f"train {base}/shuffled.npz {tmp_path}/one --n-hashes 32 --n-bits 4 --tol 0.01")
    assert {**merged, "target": one["target"]} == one
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "one").read_bytes()
    X, y = digits
    scores = [
        ck.load_model(tmp_path / name).score(X[N_ROWS:], y[N_ROWS:]) for name in ("parts", "one")
    ]
    assert abs(scores[0] - scores[1]) < 0.02
    line = f"train {base}/shuffled.npz {tmp_path}/x"
    assert "name its --engine" in run(f"{line} --merge").stderr
    assert "give --merge too" in run(f"{line} --regression --engine local").stderr
    few = run(f"{line} {options} --max-iter 1 --C 100")
    assert "the duality gap is " in few.stderr
    assert "more than --tol 1.0e-02: raise --max-iter" in few.stderr
    assert "note:" not in run(f"{line} {options}").stderr
    newton = as_json(f"{line} {options} --merge --solver newton")
    assert newton["passes"] != merged["passes"]
    assert "--solver: is not for" in run(f"{line} --solver newton --engine local").stderr


@pytest.mark.engines
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_spark_ml(engine, digits, tmp_path):
    import pyarrow
    from pyspark.ml import Pipeline
    from pyspark.ml.linalg import Vectors

    from corekernels.files.engines.spark_ml import (
        CoREHashTransformer,
        CoRESparkClassifier,
        CoRESparkModel,
    )

    X, y = digits
    easy = np.flatnonzero(y < 2)[:N_SPARK]  # a single step tells zeros from ones
    vectors = [Vectors.dense(X[row]) for row in easy]
    vectors[::2] = [Vectors.sparse(64, list(enumerate(vector))) for vector in vectors[::2]]
    made = [(float(y[row]), vector) for row, vector in zip(easy, vectors, strict=True)]
    frame = engine.session.createDataFrame(made, ["label", "features"]).repartition(2)
    hashes = {"nHashes": 32, "nBits": 4}
    hashed = CoREHashTransformer(**hashes).transform(frame)
    assert hashed.columns == ["label", "codes", "weights", "lengths"]
    columns = [list(column) for column in zip(*hashed.collect(), strict=True)]
    table = pyarrow.table(columns, hashed.columns)
    found = files.signatures_of_table(table, ck.Recipe(n_hashes=32, n_bits=4, n_columns=64))
    expected = ck.CoREHasher(n_hashes=32, n_bits=4, random_state=0).fit(X).sketch(X[easy])
    order = np.lexsort(expected.codes.T), np.lexsort(found.codes.T)  # Spark shuffles rows
    np.testing.assert_array_equal(found.codes[order[1]], expected.codes[order[0]])
    rounded = CoREHashTransformer(kernel="core_rbf", gamma=2.0, weightBits=4, **hashes)
    assert "slots" in rounded.transform(frame).columns
    learner = CoRESparkClassifier(folder=str(tmp_path), maxIter=1, **hashes)
    (model,) = Pipeline(stages=[learner]).fit(frame).stages
    rows = model.transform(frame).collect()
    assert np.mean([row.label == row.prediction for row in rows]) > 0.95
    model.save(tmp_path / "model")
    again = CoRESparkModel.load(tmp_path / "model").transform(frame).collect()
    assert [row.prediction for row in again] == [row.prediction for row in rows]
    assert ck.load_model(tmp_path / "model").score(X[easy], y[easy]) > 0.95
