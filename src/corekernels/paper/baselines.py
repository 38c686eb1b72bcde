"""Beyond the paper: other learners on the same rows, with their times and memory.

Each learner runs in a process of its own (`python -m corekernels.paper.baselines`), which reads
the rows from a file, so that its peak of memory is its own.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import corekernels as ck

from ..errors import CoREError
from .layout import Figure, Line, Panel, Section, Table
from .published import title_of
from .stages import Record, Records, Setting, Stage, accuracy, provenance

N_TEST = 10_000
GAMMAS = (1.0, 2.0, 4.0, 8.0, 16.0)
N_LANDMARKS = 1000


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


def _rbf(X: Any, y: Any, seed: int) -> Any:
    """RBF SVM, its width chosen on held-out training rows: it is fair to let it."""
    rows = np.random.default_rng(seed).permutation(len(y))[:5000]
    fit, hold = rows[: len(rows) * 3 // 5], rows[len(rows) * 3 // 5 :]
    scores = [SVC(C=10, gamma=g).fit(X[fit], y[fit]).score(X[hold], y[hold]) for g in GAMMAS]
    return SVC(C=10, gamma=GAMMAS[int(np.argmax(scores))]).fit(X, y)


def _hashed(n_hashes: int) -> Callable[[Any, Any, int], Any]:
    return lambda X, y, seed: ck.CoREClassifier("core1", n_hashes, random_state=seed).fit(X, y)


LEARNERS: dict[str, Callable[[Any, Any, int], Any]] = {
    "linear": lambda X, y, seed: LinearSVC(random_state=seed).fit(X, y),
    "hashed CoRE 1, k = 256": _hashed(256),
    "hashed CoRE 1, k = 1024": _hashed(1024),
    "hashed CoRE 1, k = 4096": _hashed(4096),
    "exact CoRE 1": lambda X, y, seed: SVC(C=10, kernel=ck.core1).fit(X, y),
    f"Nystroem, {N_LANDMARKS} landmarks": lambda X, y, seed: make_pipeline(
        Landmarks(N_LANDMARKS, random_state=seed), LinearSVC(random_state=seed)
    ).fit(X, y),
    "RBF": _rbf,
    "gradient boosting": lambda X, y, seed: HistGradientBoostingClassifier(random_state=seed).fit(
        X, y
    ),
}
DENSE = ("gradient boosting",)
SLOW = ("gradient boosting", "hashed CoRE 1, k = 4096")  # not for a first look


def _items(setting: Setting) -> Sequence[str]:
    return [learner for learner in LEARNERS if setting.full or learner not in SLOW]


def measure(learner: str, setting: Setting) -> Record:
    """Accuracy, seconds and megabytes of one learner."""
    name = "m-rotate" if setting.full else "digits"
    data = setting.load(name)
    n_test = min(N_TEST, data.X_test.shape[0])
    with tempfile.TemporaryDirectory() as folder:
        for part, X in (("train", data.X_train), ("test", data.X_test[:n_test])):
            sparse.save_npz(Path(folder) / f"{part}.npz", sparse.csr_array(X), compressed=False)
        np.savez(Path(folder) / "labels.npz", train=data.y_train, test=data.y_test[:n_test])
        command = [
            sys.executable,
            "-m",
            "corekernels.paper.baselines",
            learner,
            folder,
            str(setting.seed),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CoREError(f"{learner}: ended with {done.stderr.strip().splitlines()[-1:]}.")
    found = json.loads(done.stdout)
    results = {"data": provenance(data), "name": name, "n_test": n_test}
    return {**results, "accuracy": found.pop("accuracy"), "timings": found}


def run_alone(learner: str, folder: Path, seed: int) -> Record:
    """Fit and predict in this process; what it took."""
    train, test = (sparse.load_npz(folder / f"{part}.npz") for part in ("train", "test"))
    labels = np.load(folder / "labels.npz")
    if learner in DENSE:
        train, test = train.toarray(), test.toarray()
    LEARNERS[learner](train[:300], labels["train"][:300], seed).predict(test[:10])  # compiles
    before, start = _peak(), time.perf_counter()
    model = LEARNERS[learner](train, labels["train"], seed)
    fitted = time.perf_counter()
    predicted = model.predict(test)
    return {
        "accuracy": accuracy(predicted, labels["test"]),
        "fit": fitted - start,
        "predict": time.perf_counter() - fitted,
        "megabytes": None if before is None else (_peak() or 0) - before,
    }


def draw(records: Records) -> Section:
    """Accuracy beside time and memory."""
    found = records.results("baselines")
    name = next((results["name"] for results in found.values()), "m-rotate")
    rows, lines = [], []
    for learner, results in found.items():
        timings = results["timings"]
        megabytes = timings["megabytes"]
        rows.append([
            learner, f"{results['accuracy']:.1f}", f"{timings['fit']:.2f}",
            f"{timings['predict']:.2f}", None if megabytes is None else f"{megabytes:,.0f}",
        ])  # fmt: skip
        lines.append(Line(learner, [timings["fit"]], [results["accuracy"]], style="points"))
    n_test = next((results["n_test"] for results in found.values()), N_TEST)
    return Section(
        name="baselines",
        title="Beyond the paper: other learners on the same rows",
        text=(
            f"{title_of(name)}, {n_test:,} test rows, two cores where a learner uses them. "
            "C is 1 for linear learners and 10 for kernel machines; the RBF kernel's width is "
            "chosen on held-out training rows, and that time counted. Memory is the peak above "
            "the rows themselves.",
        ),
        tables=(
            Table("Accuracy, time and memory.",
                  ["learner", "accuracy, %", "fit, s", "predict, s", "peak, MB"], rows),
        ),
        figures=(
            Figure("baselines", "Accuracy against the time of training.",
                   "One point a learner: accuracy against seconds to fit.",
                   [Panel(title_of(name), "seconds to fit", "accuracy, %", lines, log_x=True)]),
        ),
        notes=records.notes("baselines"),
    )  # fmt: skip


def _peak() -> float | None:
    """Megabytes this process has held at most, where the system tells."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")), None)


STAGE = Stage("baselines", "other learners", _items, measure, draw)

if __name__ == "__main__":
    print(json.dumps(run_alone(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
