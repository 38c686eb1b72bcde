"""Learning by parts beside learning on one machine: accuracy, objective, passes, seconds.

    COREKERNELS_DATA=folder python benchmarks/distributed_learning.py
    ... --data m-rotate --C 1 --losses hinge --max-iter 200 --name hinge

Rows of M-Rotate and MNIST lie in 4 and in 16 parts, shuffled and sorted by label. Each fit by
parts, on threads of this process, is compared with the fit of all rows at once, both at their
default tolerances: 1024 hashes of CoRE 1, 8 bits. Prints one line per fit and writes those of each
data set to benchmarks/results/distributed-learning-DATA.json. Where a fit misses what is promised
(accuracy within 0.2 points, objective within 0.1 %), the script ends with an error; the hinge loss
promises neither, only that the gap it reports bounds the difference of the objectives.
"""

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

import measure
from corekernels import (
    CoREClassifier,
    CoREHasher,
    Signatures,
    files,
    io,
    load_model,
)
from corekernels.files.learning import Round
from corekernels.linear import HashedLinearClassifier
from paper import datasets

RESULTS = Path(__file__).parent / "results"
N_HASHES, N_BITS, SEED = 1024, 8, 0
MOST_POINTS, MOST_OBJECTIVE = 0.2, 1e-3  # differences that are promised
ORDERS = ("shuffled", "sorted")


class Task(NamedTuple):
    """Rows, labels and signatures to learn from and to test on."""

    X: sparse.csr_array
    y: np.ndarray
    S: Signatures
    T: Signatures
    y_test: np.ndarray


def load(name: str) -> tuple[sparse.csr_array, np.ndarray, sparse.csr_array, np.ndarray]:
    """A data set by its name: "mnist" is the official 60,000 images and 10,000 to test on."""
    if name == "mnist":
        images, labels = datasets.mnist()
        X = sparse.csr_array(images.reshape(len(images), -1).astype(np.float32))
        return X[:60_000], labels[:60_000], X[60_000:], labels[60_000:]
    data = datasets.load(name)
    return data.X_train, data.y_train, data.X_test, data.y_test


def hashed(name: str, rows: int | None) -> Task:
    """A data set and its signatures, with at most so many rows to learn from."""
    X, y, X_test, y_test = load(name)
    some = np.random.default_rng(SEED).permutation(len(y))[:rows]
    hasher = CoREHasher("core1", N_HASHES, n_bits=N_BITS, random_state=SEED).fit(X)
    return Task(X[some], y[some], hasher.sketch(X[some]), hasher.sketch(X_test), y_test)


def write_parts(task: Task, order: str, n_parts: int, folder: Path) -> None:
    """The rows to learn from in so many files, in a random order or by label."""
    rows = np.arange(len(task.y))  # shuffled already
    if order == "sorted":
        rows = np.argsort(task.y, kind="stable")
    folder.mkdir()
    for number, some in enumerate(np.array_split(rows, n_parts)):
        io.write_rows(folder / f"{number:02d}.npz", task.X[some], task.y[some])


def objectives(model: CoREClassifier, loss: str, C: float, task: Task) -> np.ndarray:
    """The value of each class's problem."""
    linear: HashedLinearClassifier = model.linear_
    weights, biases = linear.coef_.astype(np.float64), linear.intercept_
    signs = np.where(task.y[:, None] == linear.classes_, 1, -1)
    margins = signs * linear.decision_function(task.S)
    losses = {
        "squared_hinge": lambda: np.maximum(0, 1 - margins) ** 2,
        "hinge": lambda: np.maximum(0, 1 - margins),
        "log_loss": lambda: np.logaddexp(0, -margins),
    }[loss]().sum(axis=0)
    return 0.5 * ((weights**2).sum(axis=1) + biases**2) + C * losses


def scored(model: CoREClassifier, loss: str, C: float, task: Task) -> tuple[float, np.ndarray]:
    """Accuracy in percent, and objectives."""
    accuracy = 100 * model.linear_.score(task.T, task.y_test)
    return round(float(accuracy), 3), objectives(model, loss, C, task)


def fitted_at_once(task: Task, loss: str, C: float) -> dict[str, object]:
    """The fit of all rows on this machine."""
    model = CoREClassifier(
        "core1", N_HASHES, n_bits=N_BITS, loss=loss, C=C, max_iter=3000, random_state=SEED
    )
    start = time.perf_counter()
    model.fit_signatures(task.S, task.y)
    seconds = round(time.perf_counter() - start, 2)
    accuracy, found = scored(model, loss, C, task)
    return {"accuracy": accuracy, "objectives": found, "seconds": seconds}


def fitted_by_parts(
    engine: files.Engine,
    task: Task,
    signatures: Path,
    loss: str,
    C: float,
    options: argparse.Namespace,
) -> dict[str, object]:
    """The fit of the shards of a folder."""
    plan = files.plan_parts(engine, signatures)
    target = signatures.parent / "model"
    start = time.perf_counter()
    rounds: list[Round] = []
    trained = files.train(
        plan, target, task.S.recipe, engine=engine, on_round=rounds.append, loss=loss, C=C,
        tol=1e-3, max_iter=options.max_iter, progress=False,
    )  # fmt: skip
    seconds = round(time.perf_counter() - start, 2)
    accuracy, found = scored(load_model(target), loss, C, task)
    gap = max({one.block: one.gap for one in rounds}.values())
    return {
        "accuracy": accuracy, "objectives": found, "seconds": seconds,
        "passes": trained.n_iter_, "gap": float(f"{gap:.2g}"),
    }  # fmt: skip


def compared(parts: dict[str, object], whole: dict[str, object]) -> dict[str, object]:
    """Both fits side by side, with their differences."""
    mine, theirs = parts.pop("objectives"), whole["objectives"]
    by_class = mine / theirs - 1
    return {
        **parts,
        "one_machine": {name: value for name, value in whole.items() if name != "objectives"},
        "accuracy_difference": round(parts["accuracy"] - whole["accuracy"], 3),
        "objective_difference": float(f"{mine.sum() / theirs.sum() - 1:.2e}"),
        "largest_objective_difference_of_a_class": float(f"{np.abs(by_class).max():.2e}"),
    }


def holds(fit: dict[str, object]) -> bool:
    """Whether a fit is as near to that of one machine as promised."""
    if fit["loss"] == "hinge":
        most = fit["gap"] / (1 - fit["gap"])  # the gap is a share of the larger objective
        return fit["largest_objective_difference_of_a_class"] <= most + 1e-4
    return (
        abs(fit["accuracy_difference"]) <= MOST_POINTS
        and fit["largest_objective_difference_of_a_class"] <= MOST_OBJECTIVE
    )


def grid(
    options: argparse.Namespace, name: str, engine: files.Engine
) -> Iterator[dict[str, object]]:
    """All fits of a data set."""
    task = hashed(name, options.rows)
    wholes: dict[tuple[str, float], dict[str, object]] = {}
    for n_parts, order in itertools.product(options.parts, ORDERS):
        with tempfile.TemporaryDirectory() as folder:
            rows, signatures = Path(folder) / "rows", Path(folder) / "signatures"
            write_parts(task, order, n_parts, rows)
            plan = files.plan_parts(engine, rows, n_columns=task.S.recipe.n_columns)
            files.hash_to_file(
                plan, signatures, task.S.recipe, shard_rows=len(task.y), engine=engine,
                progress=False,
            )  # fmt: skip
            for loss, C in itertools.product(options.losses, options.C):
                if (loss, C) not in wholes:
                    wholes[loss, C] = fitted_at_once(task, loss, C)
                found = fitted_by_parts(engine, task, signatures, loss, C, options)
                about = {"parts": n_parts, "order": order, "loss": loss, "C": C}
                yield about | compared(found, wholes[loss, C])


def main() -> None:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["m-rotate", "mnist"])
    parser.add_argument("--rows", type=int, help="to learn from, at most")
    parser.add_argument("--parts", nargs="+", type=int, default=[4, 16])
    parser.add_argument("--losses", nargs="+", default=["squared_hinge"])
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--max-iter", type=int, default=1000, help="passes, at most")
    parser.add_argument("--workers", type=int, help="threads of the engine")
    parser.add_argument("--name", default="learning", help="in the name of the file of results")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    missed = 0
    with files.open_engine("local", workers=options.workers) as engine:
        for name in options.data:
            path = options.out / f"distributed-{options.name}-{name}.json"
            results: dict[str, object] = {
                "machine": measure.machine(), "workers": engine.n_workers, "data": name,
                "n_hashes": N_HASHES, "n_bits": N_BITS, "seed": SEED,
                "fits": [],
            }  # fmt: skip
            for fit in grid(options, name, engine):
                fit["holds"] = holds(fit)
                missed += not fit["holds"]
                results["fits"].append(fit)
                print(name, json.dumps(fit), flush=True)
                path.write_text(json.dumps(results, indent=2) + "\n")
    sys.exit(f"{missed} fits are not as near as promised" if missed else 0)


if __name__ == "__main__":
    main()
