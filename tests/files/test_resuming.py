"""Every job by parts goes on after a kill, and does anew what comes of files that have changed."""

import os

import numpy as np
import pytest

import corekernels as ck
from corekernels import files, io
from corekernels.files.engines import LocalEngine
from corekernels.io.job_folder import unfinished_folder

RECIPE = ck.Recipe(n_columns=12, n_hashes=16)


class Killed(BaseException):
    """Ends a run as a kill does."""


class Dying(LocalEngine):
    """Its driver dies after so many results."""

    def __init__(self, n_results):
        super().__init__(workers=1)
        self.left = n_results

    def results(self, task, shared, arguments):
        for result in super().results(task, shared, arguments):
            if not self.left:
                raise Killed
            self.left -= 1
            yield result


def write_rows(number, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((40, 12))
    io.write_rows(f"rows/{number}.npz", X, (X[:, 0] > 0.5).astype(int))


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("rows")
    for number in range(5):
        write_rows(number, number)


def hashed(plan, target, **how):
    files.hash_to_file(plan, target, RECIPE, shard_rows=30, **how)


def learned(plan, target, **how):
    files.train(plan, target, RECIPE, tol=1e-2, **how)


def predicted(plan, target, **how):
    rng = np.random.default_rng(0)
    X = rng.random((50, 12))
    model = ck.CoREClassifier(n_hashes=16, random_state=0).fit(X, X[:, 0] > 0.5)
    files.predict(model, plan, target, output="scores", **how)


def searched(plan, target, **how):
    if not os.path.exists("index"):
        X = np.random.default_rng(0).random((50, 12))
        ck.CoRENeighbors(n_neighbors=2, random_state=0).fit(X).save("index")
    files.search("index", plan, target, **how)


def content(path):
    if os.path.isdir(path):
        return {name: content(os.path.join(path, name)) for name in os.listdir(path)}
    with open(path, "rb") as file:
        return file.read()


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize(("job", "n_results"), [
    (hashed, 3), (predicted, 3), (searched, 3), (learned, 3), (learned, 14),
])  # fmt: skip
def test_a_killed_job_goes_on(job, n_results, changes):
    plan = files.plan_parts(None, "rows")
    with pytest.raises(Killed):
        job(plan, "out", engine=Dying(n_results))
    assert list((unfinished_folder("out") / "parts").iterdir())
    assert not os.path.exists("out")
    if changes:
        write_rows(1, 100)
        plan = files.plan_parts(None, "rows")
    engine = files.open_engine("local", workers=1)
    job(plan, "out", engine=engine, resume=True)
    job(plan, "whole", engine=engine)
    assert content("out") == content("whole")
    assert not unfinished_folder("out").exists()
