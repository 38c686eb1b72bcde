"""Tables: what wins on dense rows, and what splines and levels make of CoRE kernels there.

    COREKERNELS_DATA=folder python benchmarks/tables.py            # letter, satellite, vowel too
    python benchmarks/tables.py --only wine                        # one set

Accuracy on held-out rows, in percent. Settings (C, gamma, the width of Gaussian kernels) are
chosen on the last quarter of the training rows, for every column alike; then all training rows
are learned from. Rows to learn from are the first 60 % (6,000 at most) of a permutation by
numpy.random.default_rng(0), rows to test on the next 4,000 at most. Writes tables.json in the
folder of --out.
"""

import argparse
import json
import os
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, SplineTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

import corekernels as ck
import measure

RESULTS = Path(__file__).parent / "results"
SETS = ("wine", "breast_cancer", "digits", "vowel", "satellite", "letter")
N_HASHES = 4096
CS, GAMMAS, WIDTHS = (1.0, 10.0, 100.0), (4.0, 8.0), (0.25, 1.0, 4.0)


def load(name):
    """Rows and labels."""
    if name in ("wine", "breast_cancer", "digits"):
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    table = np.load(Path(os.environ["COREKERNELS_DATA"]) / "tables" / f"{name}.npz")
    return table["X"].astype(np.float64), table["y"]


def splines():
    """Columns as splines, most of which are 0 in a row."""
    return MinMaxScaler(clip=True), SplineTransformer(n_knots=8, sparse_output=True)


def columns(n_columns):
    """The ways to learn, each a list of pipelines to choose from."""
    scale = StandardScaler
    hashed = partial(ck.CoREClassifier, n_hashes=N_HASHES, random_state=0)
    levels = ck.Levels(16, scale="std", signs=True, random_state=0)
    return {
        "linear, standardised": [
            make_pipeline(scale(), learner)
            for C in (0.1, 1.0, 10.0)
            for learner in (LinearSVC(C=C, random_state=0), LogisticRegression(C=C, max_iter=500))
        ],
        "boosting": [HistGradientBoostingClassifier(random_state=0)],
        "Gaussian SVM": [
            make_pipeline(scale(), SVC(C=C, gamma=width / n_columns))
            for C, width in product(CS, WIDTHS)
        ],
        "core1, rows as they are": [SVC(kernel=ck.core1, C=C) for C in CS],
        "core_rbf on splines, exact": [
            make_pipeline(*splines(), SVC(kernel=partial(ck.core_rbf, gamma=gamma), C=C))
            for C, gamma in product(CS, GAMMAS)
        ],
        f"core_rbf on splines, {N_HASHES} hashes": [
            make_pipeline(*splines(), hashed(kernel="core_rbf", gamma=gamma, C=C))
            for C, gamma in product((1.0, 10.0), GAMMAS)
        ],
        f"resemblance on levels, {N_HASHES} hashes": [
            make_pipeline(scale(), levels, hashed(kernel="resemblance", C=C)) for C in (1.0, 10.0)
        ],
        f"{N_HASHES} Fourier features": [
            make_pipeline(
                scale(), RBFSampler(gamma=width / n_columns, n_components=N_HASHES, random_state=0),
                RidgeClassifier(alpha=alpha),
            )
            for width, alpha in product(WIDTHS, (0.1, 1.0))
        ],
    }  # fmt: skip


def accuracy(pipelines, X, y, n_train, n_test):
    """Accuracy on the test rows with the settings that are best on a quarter of the others."""
    fitted_on = n_train - n_train // 4
    scores = [0.0] * len(pipelines)
    if len(pipelines) > 1:
        scores = [
            clone(one)
            .fit(X[:fitted_on], y[:fitted_on])
            .score(X[fitted_on:n_train], y[fitted_on:n_train])
            for one in pipelines
        ]
    best = clone(pipelines[int(np.argmax(scores))]).fit(X[:n_train], y[:n_train])
    return best.score(X[n_train : n_train + n_test], y[n_train : n_train + n_test])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=SETS, action="append")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    names = list(options.only or SETS)
    if "COREKERNELS_DATA" not in os.environ:
        names = [name for name in names if hasattr(datasets, f"load_{name}")]
    results = {"machine": measure.machine(), "sets": {}}
    warnings.simplefilter("ignore")
    for name in names:
        X, y = load(name)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        n_train = min(6000, int(0.6 * len(y)))
        n_test = min(4000, len(y) - n_train)
        accuracies = {
            column: round(100 * accuracy(pipelines, X, y, n_train, n_test), 1)
            for column, pipelines in columns(X.shape[1]).items()
        }
        results["sets"][name] = {"rows": n_train, "tested": n_test, "accuracy": accuracies}
        print(f"{name}, {n_train} rows, tested on {n_test}")
        for column, percent in accuracies.items():
            print(f"    {column:42} {percent:5.1f}", flush=True)
        (options.out / "tables.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
