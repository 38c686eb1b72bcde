"""Learning from packed signatures beside its peers, in one run: times, objectives, accuracies.

    python benchmarks/learning.py [part ...]

Parts: speed, path, memory, scaling, table (all of them if none is named). Peers take
turns and the best of several turns counts, so that a busy machine is unfair to nobody.
Results go to `results/learning.json`. MNIST comes from the folder COREKERNELS_DATA names.
"""

import gc
import json
import platform
import resource
import subprocess
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import corekernels as ck
from corekernels.linear import HashedLinearClassifier, c_path
from paper import Landmarks, datasets

SEED = 0
RESULTS = Path(__file__).parent / "results" / "learning.json"
PARTS = ("speed", "path", "memory", "scaling", "table")


def timed(work):
    """Seconds and result."""
    gc.collect()
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def best_of(turns, **peers):
    """The best time of each peer over several rounds, its processor time, and its last result.

    Processor time adds up the threads: what a peer would take on one core.
    """
    seconds, processor, results = {}, {}, {}
    for _ in range(turns):
        for name, work in peers.items():
            start = time.process_time()
            took, results[name] = timed(work)
            processor[name] = min(processor.get(name, np.inf), time.process_time() - start)
            seconds[name] = min(seconds.get(name, np.inf), took)
    return seconds, processor, results


def objective(X, y, coef, intercept, C=1.0):
    """Sum over classes of the squared-hinge problem's value, in double precision."""
    classes = np.unique(y)
    total = 0.0
    for plane, label in enumerate(classes[1:] if len(coef) == 1 else classes):
        w = coef[plane].astype(np.float64)
        short = np.maximum(0, 1 - np.where(y == label, 1, -1) * (X @ w + intercept[plane]))
        total += 0.5 * (w @ w + intercept[plane] ** 2) + C * (short**2).sum()
    return total


def hashed(data, kernel, n_hashes):
    """Signatures of training and test rows, and the seconds they took."""
    X, _, X_test, _ = data
    hasher = ck.CoREHasher(kernel, n_hashes, random_state=SEED).fit(X)
    hasher.sketch(X[:10])
    seconds, S = timed(lambda: hasher.sketch(X))
    return S, hasher.sketch(X_test), seconds


def speed(data):
    """Fit and predict beside LinearSVC(dual=True), at its default tolerance."""
    _, y, _, y_test = data
    found = []
    for n_hashes, binary, turns in [(1024, False, 3), (1024, True, 3), (4096, False, 1)]:
        labels, truth = (y % 2, y_test % 2) if binary else (y, y_test)
        S, T, _ = hashed(data, "core1", n_hashes)
        X, X_test = S.to_csr(), T.to_csr()
        small = slice(0, 300)
        HashedLinearClassifier(random_state=SEED, max_iter=3000).fit(S[small], labels[small])
        ours = HashedLinearClassifier(random_state=SEED)
        tight = HashedLinearClassifier(random_state=SEED, tol=1e-6)
        svc = LinearSVC(dual=True, random_state=SEED)
        seconds, processor, models = best_of(
            turns,
            ours=lambda: ours.fit(S, labels),  # noqa: B023
            tight=lambda: tight.fit(S, labels),  # noqa: B023
            svc=lambda: svc.fit(X, labels),  # noqa: B023
        )
        objectives = {
            name: objective(X, labels, model.coef_, model.intercept_)
            for name, model in models.items()
        }
        predictions, predicting, _ = best_of(
            15, ours=lambda: ours.predict(T), svc=lambda: svc.predict(X_test)  # noqa: B023
        )  # fmt: skip
        row = {
            "n_hashes": n_hashes,
            "classes": 2 if binary else 10,
            "seconds": seconds,
            "objective over LinearSVC's, minus 1": {
                name: value / objectives["svc"] - 1 for name, value in objectives.items()
            },
            "sweeps": {name: int(np.max(model.n_iter_)) for name, model in models.items()},
            "accuracy": {"ours": ours.score(T, truth), "svc": svc.score(X_test, truth)},
            "agreement": float((ours.predict(T) == svc.predict(X_test)).mean()),
            "fit ratio": seconds["svc"] / seconds["ours"],
            "fit ratio at tol 1e-6": seconds["svc"] / seconds["tight"],
            "processor seconds": processor,
            "fit ratio on one core": processor["svc"] / processor["ours"],
            "predict seconds": predictions,
            "predict ratio on one core": predicting["svc"] / predicting["ours"],
            "predict ratio": predictions["svc"] / predictions["ours"],
        }
        found.append(row)
        print(
            f"k={n_hashes} classes={row['classes']}: fit {seconds['ours']:.2f} s "
            f"(tol 1e-6: {seconds['tight']:.2f}), LinearSVC {seconds['svc']:.2f}: "
            f"{row['fit ratio']:.1f}x ({row['fit ratio at tol 1e-6']:.1f}x; on one core "
            f"{row['fit ratio on one core']:.1f}x); predict {row['predict ratio']:.1f}x (on one "
            f"core {row['predict ratio on one core']:.1f}x); agreement {row['agreement']:.4f}",
            flush=True,
        )
    return found


def path(data):
    """Eight values of C, warm-started, beside single fits."""
    _, y, _, y_test = data
    S, T, _ = hashed(data, "core1", 1024)
    found = []
    for low, high in [(1 / 32, 4), (0.01, 100)]:
        Cs = np.geomspace(low, high, 8)
        model = HashedLinearClassifier(random_state=SEED)
        seconds, processor, results = best_of(
            2,
            path=lambda: c_path(S, y, Cs, model=model, validation=(T, y_test)),  # noqa: B023
            **{str(C): lambda C=C: clone(model).set_params(C=C).fit(S, y) for C in Cs},  # noqa: B023
        )
        walk, took = results["path"], seconds["path"]
        cold = [seconds[str(C)] for C in Cs]
        tight = c_path(S, y, Cs, model=model, validation=(T, y_test), path_tol=1e-9)
        moved = np.abs(walk.mean - tight.mean) / tight.standard_error
        best = str(Cs[int(np.flatnonzero(Cs == walk.best_C)[0])])
        row = {
            "Cs": Cs.tolist(),
            "seconds": took,
            "cold seconds": cold,
            "accuracies": walk.mean.tolist(),
            "standard errors": walk.standard_error.tolist(),
            "largest difference to accuracies at tol, in standard errors": moved.max(),
            "best C": walk.best_C,
            "over a fit at the best C": took / seconds[best],
            "over a fit at the best C, processor time": processor["path"] / processor[best],
            "over a mean fit": took / np.mean(cold),
            "over a fit at the largest C": took / cold[-1],
        }
        found.append(row)
        print(
            f"path {low:.3g}..{high:.3g}: {took:.2f} s = {row['over a fit at the best C']:.1f} "
            f"fits at the best C ({walk.best_C:.2f}; in processor time "
            f"{row['over a fit at the best C, processor time']:.1f}), "
            f"{row['over a mean fit']:.1f} mean fits, "
            f"{row['over a fit at the largest C']:.1f} fits at the largest C; accuracies within "
            f"{moved.max():.2f} standard errors of those at tol",
            flush=True,
        )
    return found


MEASURE = """
import sys
sys.path[:0] = {paths!r}
import numpy as np, corekernels as ck
rng = np.random.default_rng(0)
k = {k}
recipe = ck.Recipe(n_hashes=k, n_columns=784)
def make(n):
    codes, weights = np.empty((n, k), np.uint8), np.empty((n, k), np.float16)
    for i in range(n):  # row by row: no temporary may be larger than what is measured
        codes[i] = np.minimum(rng.geometric(0.2, k) - 1, 255)
        weights[i] = rng.standard_normal(k, dtype=np.float32)
    arrays = dict(codes=codes, weights=weights, lengths=np.full(n, 100))
    return ck.Signatures.from_arrays(recipe, arrays), np.arange(n) % 10
ck.linear.HashedLinearClassifier(random_state=0, tol=0.5).fit(*make(50))
S, y = make(12_000)
def status(name):
    return int(open("/proc/self/status").read().split(name + ":")[1].split()[0]) * 1024
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here
before = status("VmRSS")
ck.linear.HashedLinearClassifier(random_state=0, tol=0.01).fit(S, y)
print(status("VmHWM") - before)
"""


def memory(data):
    """Peak above the signatures, in a fresh process, beside LIBLINEAR's nodes (16 bytes each)."""
    found = []
    for k in (1024, 4096):
        code = MEASURE.format(paths=[p for p in sys.path if p], k=k)
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        peak, nodes = int(run.stdout), 12_000 * (k + 2) * 16
        found.append({"n_hashes": k, "peak": peak, "liblinear": nodes, "ratio": nodes / peak})
        print(
            f"memory k={k}: {peak / 1e6:.0f} MB, LIBLINEAR's nodes {nodes / 1e6:.0f} MB: "
            f"{nodes / peak:.1f}x"
        )
    return found


def scaling(data):
    """Processor seconds per sweep and row, from 10,000 to 1,000,000 generated rows (k = 256)."""
    rng = np.random.default_rng(SEED)
    k, n = 256, 1_000_000
    recipe = ck.Recipe(kernel="core1", n_hashes=k, n_columns=784)
    codes = np.empty((n, k), np.uint8)
    weights = np.empty((n, k), np.float16)
    for start in range(0, n, 50_000):
        shape = (min(50_000, n - start), k)
        codes[start : start + 50_000] = np.minimum(rng.geometric(0.2, shape) - 1, 255)
        weights[start : start + 50_000] = rng.standard_normal(shape, dtype=np.float32)
    y = ((weights[:, :64] * (codes[:, :64] % 2 - 0.5)).sum(axis=1) > 0).astype(int)
    y += 2 * (weights[:, 0] > 0)
    arrays = {"codes": codes, "weights": weights, "lengths": np.full(n, 100)}
    S = ck.Signatures.from_arrays(recipe, arrays)
    found = []
    for rows in (10_000, 100_000, 1_000_000):
        seconds = []
        for sweeps in (1, 3):
            model = HashedLinearClassifier(C=0.1, max_iter=sweeps, tol=1e-12, random_state=SEED)
            part = S[:rows]
            _, best, _ = best_of(3, fit=lambda: quietly(model, part, y[:rows]))  # noqa: B023
            seconds.append(best["fit"])
        sweep = (seconds[1] - seconds[0]) / 2
        found.append(
            {"rows": rows, "seconds per sweep": sweep, "nanoseconds per row": sweep / rows * 1e9}
        )
        print(
            f"{rows:9,} rows: {sweep:.4f} s a sweep, {sweep / rows * 1e9:.0f} ns a row", flush=True
        )
    return found


def quietly(model, S, y):
    """Fit without the warning that a few sweeps are few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(S, y)


def table(data):
    """Accuracy and time for three kernels and three k, beside exact kernels and Nystroem."""
    X, y, X_test, y_test = data
    found = []

    def note(name, fit_seconds, predict_seconds, accuracy, **more):
        found.append(
            {
                "model": name,
                "fit": fit_seconds,
                "predict": predict_seconds,
                "accuracy": accuracy,
                **more,
            }
        )
        print(
            f"{name:32s} fit {fit_seconds:7.2f} s  predict {predict_seconds:6.2f} s  "
            f"{100 * accuracy:.2f} %",
            flush=True,
        )

    for kernel in ("resemblance", "core1", "core2"):
        for k in (256, 1024, 4096):
            S, T, hashing = hashed(data, kernel, k)
            model = HashedLinearClassifier(random_state=SEED)
            held_out = S[:2000], y[:2000]
            walk = c_path(S[2000:], y[2000:], [0.3, 1, 3], model=model, validation=held_out)
            took, model = timed(lambda: model.set_params(C=walk.best_C).fit(S, y))  # noqa: B023
            scoring, accuracy = timed(lambda: model.score(T, y_test))  # noqa: B023
            note(
                f"hashed {kernel} k={k}",
                hashing + took,
                scoring,
                accuracy,
                C=walk.best_C,
                hashing=hashing,
            )
    took, exact = timed(lambda: SVC(kernel=ck.core1, C=10).fit(X, y))
    scoring, accuracy = timed(lambda: exact.score(X_test, y_test))
    note("SVC, exact core1", took, scoring, accuracy)
    for m in (256, 1024):
        model = make_pipeline(
            Landmarks(m, random_state=SEED),
            LinearSVC(C=10, dual=False, tol=1e-3, random_state=SEED),
        )
        took, _ = timed(lambda: model.fit(X, y))  # noqa: B023
        scoring, accuracy = timed(lambda: model.score(X_test, y_test))  # noqa: B023
        note(f"Nystroem {m}, core1, LinearSVC", took, scoring, accuracy)
    took, rbf = timed(lambda: SVC(C=10, gamma=2.0).fit(X, y))
    scoring, accuracy = timed(lambda: rbf.score(X_test, y_test))
    note("SVC, RBF gamma=2", took, scoring, accuracy)
    took, plain = timed(lambda: LinearSVC(dual=False, random_state=SEED).fit(X, y))
    scoring, accuracy = timed(lambda: plain.score(X_test, y_test))
    note("LinearSVC, raw rows", took, scoring, accuracy)
    return found


def main():
    parts = sys.argv[1:] or PARTS
    unknown = set(parts) - set(PARTS)
    if unknown:
        sys.exit(f"unknown part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}")
    rotated = datasets.load("m-rotate", seed=SEED)
    X, X_test = (part[:20_000].toarray() for part in (rotated.X_train, rotated.X_test))
    data = X, rotated.y_train, X_test, rotated.y_test[:20_000]
    for part in parts:
        print(f"--- {part}", flush=True)
        found = globals()[part](data)
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        results[part] = found
        results["about"] = {
            "seed": SEED,
            "machine": platform.machine(),
            "python": platform.python_version(),
            **{
                name: version(name)
                for name in ("numpy", "scipy", "scikit-learn", "numba", "corekernels")
            },
        }
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory of the run: {peak:.1f} GB")


if __name__ == "__main__":
    main()
