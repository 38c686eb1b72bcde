"""Advice: its figures beside cross-validations that share no code with it.

    COREKERNELS_DATA=folder python benchmarks/advice.py            # three seeds of each set
    python benchmarks/advice.py --only wine --seeds 1              # one set

`advise` with the time that --time-limit says, on 2,000 rows of each set, drawn by the seed; then
each rival as anybody would run it, five folds with scikit-learn, the best of a few settings. A
figure agrees if the difference is within the interval that `advise` gives, which is for the mean
over other folds of the same rows; "gap" is by how much the advised pipeline is behind the best of
all that were tried. On a busy machine --processor counts the processor time of one thread in place
of the time on the wall. Writes advice.json in the folder of --out.
"""

import argparse
import json
import os
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy import sparse
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from threadpoolctl import threadpool_limits

import corekernels as ck
import data
import measure
from corekernels.advice import trials

RESULTS = Path(__file__).parent / "results"
EMBEDDED = ("wine", "breast_cancer", "digits", "diabetes")
SETS = (*EMBEDDED, "vowel", "satellite", "letter", "mnist", "m-rotate", "20news")
N_ROWS = 2000
BOOSTED_COLUMNS = 256


def load(name):
    """Rows, and labels or numbers to predict."""
    if name in EMBEDDED:
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    folder = data.folder()
    if name == "20news":
        labels = np.load(folder / "20news/labels.npz")["train"]
        return sparse.csr_array(
            sparse.load_npz(folder / "20news/train_tf.npz"), dtype=float
        ), labels
    if name in ("mnist", "m-rotate"):
        from reproduction import datasets as images

        rows = images.load({"mnist": "mnist10k"}.get(name, name), folder=folder)
        return rows.X_train, rows.y_train
    table = np.load(folder / "tables" / f"{name}.npz")
    return table["X"].astype(np.float64), table["y"]


def sample(X, y, seed, stratify):
    """At most 2,000 rows in random order."""
    if len(y) <= N_ROWS:
        return X, y
    rows = np.arange(len(y))
    rows, _ = train_test_split(
        rows, train_size=N_ROWS, random_state=seed, stratify=y if stratify else None
    )
    X = X[rows]
    if sparse.issparse(X):
        X = X[:, np.unique(X.indices)]
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y[rows]


def recipes(name, X, is_regression):
    """The usual ways to run each rival, each a list of pipelines to choose from."""
    is_wide = sparse.issparse(X)
    scale = TfidfTransformer(sublinear_tf=True) if name == "20news" else MaxAbsScaler()
    ways = [(scale if is_wide else StandardScaler(),), (Normalizer(),)]
    if is_regression:
        linear = [Ridge(alpha=alpha) for alpha in (0.1, 1, 10)]
        boosting, ridge = HistGradientBoostingRegressor(random_state=0), Ridge
        # numbers to predict of spread 1, as SVR wants them
        machines = [partial(SVR, C=C, epsilon=0.1) for C in (1, 10)]
    else:
        linear = [LinearSVC(C=C, random_state=0) for C in (0.1, 1, 10)]
        linear += [LogisticRegression(C=C, max_iter=300, tol=1e-3) for C in (1, 10)]
        boosting, ridge = HistGradientBoostingClassifier(random_state=0), RidgeClassifier
        machines = [partial(SVC, C=C) for C in (1, 10)]
    dense = FunctionTransformer(lambda rows: rows.toarray()) if is_wide else None
    columns = SelectKBest(f_classif, k=min(BOOSTED_COLUMNS, X.shape[1])) if is_wide else None
    return {
        "linear": [make_pipeline(*way, model) for way in ways for model in linear],
        # the matrix of the kernel is made at once, which gives what SVC(gamma=...) gives
        "gaussian": [
            make_pipeline(*way, machine(kernel=partial(rbf_kernel, gamma=gamma)))
            for way in ways
            for gamma, machine in product(gammas(make_pipeline(*way).fit_transform(X)), machines)
        ],
        "fourier": [
            make_pipeline(
                *ways[0], RBFSampler(gamma=gamma, n_components=1024, random_state=0),
                ridge(alpha=0.1),
            )
            for gamma in gammas(make_pipeline(*ways[0]).fit_transform(X))
        ],
        "boosting": [make_pipeline(*filter(None, (columns, dense)), boosting)],
    }  # fmt: skip


def gammas(X):
    """The gammas around what scikit-learn calls "scale"."""
    squares, mean = (X.multiply(X) if sparse.issparse(X) else X**2).mean(), X.mean()
    return [width / (X.shape[1] * (squares - mean**2)) for width in (0.25, 1, 4)]


def cross_validation(pipelines, X, y, is_regression, seed):
    """The best mean score of five folds; hopeless settings are left after two."""
    splitter = (KFold if is_regression else StratifiedKFold)(5, shuffle=True, random_state=seed)
    folds = list(splitter.split(X, y))
    means = []
    for pipeline in pipelines:
        first = cross_val_score(pipeline, X, y, cv=folds[:2]).tolist()
        if not means or np.mean(first) > max(means) - 0.05:
            means.append(np.mean(first + cross_val_score(pipeline, X, y, cv=folds[2:]).tolist()))
    return float(max(means))


def compare(name, seed, time_limit, n_jobs):
    """What `advise` says, and what the rivals reach by themselves."""
    X, y = load(name)
    is_regression = name == "diabetes"
    X, y = sample(X, y, seed, not is_regression)
    start, start_cpu = time.perf_counter(), time.process_time()
    advice = ck.advise(
        X, y, n_rows=len(y), time_limit=time_limit, random_state=seed, n_jobs=n_jobs, progress=False
    )
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    top = max(candidate.score for candidate in advice.candidates)
    rivals = {}
    for kind, pipelines in recipes(name, X, is_regression).items():
        own = cross_validation(pipelines, X, (y - y.mean()) / y.std() if is_regression else y,
                               is_regression, seed + 1000)  # fmt: skip
        found = [candidate for candidate in advice.candidates if candidate.kind == kind]
        rivals[kind] = {"own": round(own, 4)}
        for candidate in found:
            rivals[kind] |= {
                "name": candidate.name, "advise": round(candidate.score, 4),
                "margin": round(candidate.margin, 4),
                "agrees": bool(abs(own - candidate.score) <= candidate.margin),
            }  # fmt: skip
    return {
        "rows": len(y), "seconds": round(seconds), "processor": round(cpu), "rivals": rivals,
        "verdict": advice.verdict, "best": advice.best.name,
        "gap": round(top - advice.best.score, 4),
        "margin": round(advice.best.margin, 4), "notes": advice.notes,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=SETS, action="append")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    names = options.only or (SETS if "COREKERNELS_DATA" in os.environ else EMBEDDED)
    path = options.out / "advice.json"
    results = json.loads(path.read_text()) if path.exists() else {"sets": {}}
    results |= {"machine": measure.machine(), "time_limit": options.time_limit}
    results["clock"] = "processor time of one thread" if options.processor else "wall"
    n_jobs = None
    if options.processor:
        n_jobs, trials.time = 1, SimpleNamespace(perf_counter=time.process_time)
    warnings.simplefilter("ignore")
    for name, seed in product(names, range(options.seeds)):
        with threadpool_limits(n_jobs):
            result = compare(name, seed, options.time_limit, n_jobs)
        results["sets"].setdefault(name, {})[str(seed)] = result
        print(f"{name}, seed {seed}: {result['seconds']} s, {result['best']}, gap {result['gap']}")
        for kind, rival in result["rivals"].items():
            figure = f"{rival['advise']:.3f} ± {rival['margin']:.3f}" if "name" in rival else "-"
            agrees = "" if rival.get("agrees", True) else "   DIFFERS"
            print(f"    {kind:10} {figure:16} own {rival['own']:.3f}{agrees}", flush=True)
        path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
