"""Beyond the paper: other learners on the same rows, with their times and memory.

Each learner runs in its own process, which reads the rows from a file, so that its peak memory
can be measured: `python -m reproduction.experiments.baselines`.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import corekernels as ck
from corekernels.report.layout import Figure, Line, Panel, Table

from .experiment import Drawn, Experiment, Record, Records, Setting, tuning_rows
from .published import accuracy, provenance, title_of

ROOT = Path(__file__).parents[2]
N_TEST = 10_000
N_LANDMARKS = 1000
FOURIER = {1024: 1024, 4096: 10_000}  # features that take at least the time of so many hashes
LINEAR_CS, KERNEL_CS = (0.1, 1.0, 10.0), (1.0, 10.0, 100.0)


class Landmarks(TransformerMixin, BaseEstimator):
    """Nystroem's map for CoRE 1; scikit-learn's own calls a kernel function pair by pair."""

    def __init__(self, n_components: int = 100, random_state: int = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "Landmarks":
        """Draw the landmarks."""
        rng = np.random.default_rng(self.random_state)
        self.rows_ = X[np.sort(rng.permutation(X.shape[0])[: self.n_components])]
        values, vectors = np.linalg.eigh(ck.core1(self.rows_).astype(np.float64))
        self.map_ = vectors / np.sqrt(np.maximum(values, 1e-12))
        return self

    def transform(self, X: Any) -> Any:
        """Rows whose inner products approximate the kernel."""
        return ck.core1(X, self.rows_) @ self.map_


@dataclass(frozen=True)
class Learner:
    """A model with one parameter, chosen on held-out training rows."""

    make: Callable[[float, int], Any]  # from the parameter and the seed
    grid: tuple[float, ...]
    dense: bool = False

    def fitted(self, X: Any, y: Any, seed: int) -> Any:
        """The model, fitted to all rows with the best parameter of the grid."""
        return self.make(self.best(X, y, seed), seed).fit(X, y)

    def best(self, X: Any, y: Any, seed: int) -> float:
        """The parameter that does best on 2 of 5 rows, learned from the other 3."""
        if len(self.grid) == 1:
            return self.grid[0]
        fit, held = tuning_rows(len(y), seed)
        models = (self.make(value, seed).fit(X[fit], y[fit]) for value in self.grid)
        scores = [model.score(X[held], y[held]) for model in models]
        return self.grid[int(np.argmax(scores))]


def _hashed(n_hashes: int) -> Learner:
    return Learner(
        lambda C, seed: ck.CoREClassifier("core1", n_hashes, C=C, random_state=seed), LINEAR_CS
    )


def _fourier(n_features: int) -> Learner:
    return Learner(
        lambda gamma, seed: make_pipeline(
            RBFSampler(gamma=gamma, n_components=n_features, random_state=seed),
            LogisticRegression(C=10, tol=1e-3),
        ),
        (1.0, 2.0, 4.0),
    )


LEARNERS = {
    "linear": Learner(lambda C, seed: LinearSVC(C=C, random_state=seed), LINEAR_CS),
    "hashed CoRE 1, k = 256": _hashed(256),
    "hashed CoRE 1, k = 1024": _hashed(1024),
    "hashed CoRE 1, k = 4096": _hashed(4096),
    "exact CoRE 1": Learner(lambda C, seed: SVC(C=C, kernel=ck.core1), KERNEL_CS),
    f"Nystroem, {N_LANDMARKS} landmarks": Learner(
        lambda C, seed: make_pipeline(
            Landmarks(N_LANDMARKS, random_state=seed), LinearSVC(C=C, random_state=seed)
        ),
        KERNEL_CS,
    ),
    "RBF": Learner(lambda gamma, seed: SVC(C=10, gamma=gamma), (1.0, 2.0, 4.0, 8.0, 16.0)),
    "gradient boosting": Learner(
        lambda rate, seed: HistGradientBoostingClassifier(learning_rate=rate, random_state=seed),
        (0.1,),
        dense=True,
    ),
    **{f"{n} Fourier features": _fourier(n) for n in FOURIER.values()},
}
# left out of quick runs
SLOW = ("gradient boosting", "hashed CoRE 1, k = 4096", f"{FOURIER[4096]} Fourier features")


def measure(learner: str, setting: Setting) -> Record:
    """Accuracy, seconds and megabytes of one learner."""
    name = "m-rotate" if setting.full else "digits"
    data = setting.load(name)
    n_test = min(N_TEST, data.X_test.shape[0])
    with tempfile.TemporaryDirectory() as folder:
        for part, X in (("train", data.X_train), ("test", data.X_test[:n_test])):
            sparse.save_npz(Path(folder) / f"{part}.npz", sparse.csr_array(X), compressed=False)
        np.savez(Path(folder) / "labels.npz", train=data.y_train, test=data.y_test[:n_test])
        # run as a module, its name is another; this is called where it was imported
        command = [sys.executable, "-m", __name__, learner, folder, str(setting.seed)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message; was memory short?"])[-1]
        raise ck.CoREError(f"{learner}: ended with code {done.returncode} ({last}).")
    found = json.loads(done.stdout)
    results = {"data": provenance(data), "name": name, "n_test": n_test}
    return {**results, "accuracy": found.pop("accuracy"), "timings": found}


def run_alone(learner: str, folder: Path, seed: int) -> Record:
    """Fit and predict in this process: accuracy, seconds and megabytes."""
    train, test = (sparse.load_npz(folder / f"{part}.npz") for part in ("train", "test"))
    labels = np.load(folder / "labels.npz")
    if LEARNERS[learner].dense:
        train, test = train.toarray(), test.toarray()
    few = slice(300)
    LEARNERS[learner].fitted(train[few], labels["train"][few], seed).predict(test[:10])  # compiles
    before, start = _memory_now(), time.perf_counter()
    model = LEARNERS[learner].fitted(train, labels["train"], seed)
    fitted = time.perf_counter()
    predicted = model.predict(test)
    return {
        "accuracy": accuracy(predicted, labels["test"]),
        "fit": fitted - start,
        "predict": time.perf_counter() - fitted,
        "megabytes": None if before is None else _status("VmHWM") - before,
    }


def draw(records: Records) -> Drawn:
    """Accuracy beside time and memory."""
    found = records.results("baselines")
    first: Record = next(iter(found.values()), {"name": "m-rotate", "n_test": N_TEST})
    name = title_of(first["name"])
    rows, lines = [], []
    for learner, results in found.items():
        timings, accuracy = results["timings"], results["accuracy"]
        megabytes = timings["megabytes"]
        rows.append([
            learner, f"{accuracy:.1f}", f"{timings['fit']:.2f}", f"{timings['predict']:.2f}",
            None if megabytes is None else f"{megabytes:,.0f}",
        ])  # fmt: skip
        lines.append(Line(learner, [timings["fit"]], [accuracy], style="points"))
    text = (
        f"{name}, {first['n_test']:,} test rows. Each learner's one parameter (C, or the RBF "
        "kernel's width at C = 10) is chosen on held-out training rows, and that time is "
        "counted; gradient boosting is scikit-learn's with its defaults. Fourier features are "
        "random ones for a Gaussian kernel, with logistic regression: "
        + " and ".join(f"{n:,}" for n in FOURIER.values())
        + ", which take no less time than "
        + " and ".join(f"{k:,}" for k in FOURIER)
        + " hashes. Memory is the peak above that of the process with its rows loaded."
    )
    columns = ["learner", "accuracy, %", "fit, s", "predict, s", "peak, MB"]
    figure = Figure(
        "baselines", "Accuracy against the time of training.",
        "One point per learner: accuracy against seconds to fit.",
        [Panel(name, "seconds to fit", "accuracy, %", lines, log_x=True)],
    )  # fmt: skip
    return Drawn(text, [Table("Accuracy, time and memory.", columns, rows)], [figure])


def _memory_now() -> float | None:
    """Megabytes in use, to which the peak is reset; None where the system does not say."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(name))


EXPERIMENT = Experiment(
    "baselines", "Beyond the paper: other learners on the same rows",
    {"quick": [learner for learner in LEARNERS if learner not in SLOW], "full": [*LEARNERS]},
    measure, draw,
)  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(run_alone(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
