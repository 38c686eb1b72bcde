"""Beyond the paper: circulant against independent hashing.

Mean square errors over many pairs of rows, relative to the variance that the theorems give for
independent hashes and projections.
"""

import time
from typing import Any

import numpy as np

import corekernels as ck
from corekernels.report.layout import Table

from ..datasets.dataset import Array
from .experiment import Drawn, Experiment, Record, Records, Setting, seeds
from .figure3 import KERNELS, variance
from .published import percent, provenance, title_of

N_PAIRS = 40
N_HASHES = 256
SCHEMES = ("independent", "circulant")
LEARNED_HASHES = 1024


def measure(name: str, setting: Setting) -> Record:
    """For each scheme: errors of both estimators, accuracy of a classifier, seconds to hash."""
    data = setting.load(name)
    n_seeds, rows = 200 if setting.full else 30, np.arange(N_PAIRS)
    X, exact, theory = _close_pairs(data.X_train, setting)
    results: Record = {
        "data": provenance(data), "n_seeds": n_seeds, "k": N_HASHES, "timings": {}
    }  # fmt: skip
    for scheme in SCHEMES:
        found: Record = {}
        for kernel in KERNELS.values():
            squares = np.zeros(N_PAIRS)
            for seed in seeds(setting.seed, n_seeds):
                hasher = ck.CoREHasher(
                    kernel, N_HASHES, n_bits=None, scheme=scheme, random_state=seed
                )
                S = hasher.fit(X).sketch(X)
                estimates = S.estimate_pairs(rows, rows + N_PAIRS, return_std=False)
                squares += (estimates - exact[kernel]) ** 2
            ratios = squares / n_seeds / theory[kernel]
            found[kernel] = round(float(np.mean(ratios)), 3)
            found[f"{kernel}, error"] = round(float(np.std(ratios, ddof=1) / N_PAIRS**0.5), 3)
        found["accuracy"], results["timings"][scheme] = _learned(data, scheme, setting)
        results[scheme] = found
    return results


def draw(records: Records) -> Drawn:
    """One table per data set."""
    tables = []
    for name, results in records.results("schemes").items():
        rows = []
        for scheme in SCHEMES:
            found, seconds = results[scheme], results["timings"][scheme]
            errors = [f"{found[k]:.2f} ± {found[f'{k}, error']:.2f}" for k in KERNELS.values()]
            rows.append([scheme, *errors, f"{found['accuracy']:.1f}", f"{seconds:.2g}"])
        caption = (
            f"{title_of(name)}: mean square error relative to the theorems (k = {results['k']}"
            f", {N_PAIRS} close pairs, {results['n_seeds']} seeds), and a linear SVM on "
            "hashed CoRE 1."
        )
        learned = f"accuracy at k = {LEARNED_HASHES}, %"
        tables.append(Table(caption, ["hashing", *KERNELS, learned, "seconds to hash"], rows))
    text = (
        "The paper assumes k independent permutations and Gaussian projections. Cheaper, and the "
        "default here, are one permutation, shifted circularly k times, and projections by fast "
        "transforms (CoRE 2 has no projections). A ratio of 1 is the theorems' variance."
    )
    return Drawn(text, tables)


def _close_pairs(X: Any, setting: Setting) -> tuple[Any, dict[str, Array], dict[str, Array]]:
    """Rows with their nearest neighbours: rows first, neighbours after them."""
    sample = X[: min(2000, X.shape[0])]
    K = np.array(ck.core1(sample, n_jobs=setting.n_jobs))
    np.fill_diagonal(K, -1)
    usable = np.flatnonzero(K.max(axis=1) < 0.98)  # equal rows have no error to measure
    usable = usable[K[usable].max(axis=1) > 0]
    left = np.random.default_rng(setting.seed).choice(usable, N_PAIRS, replace=False)
    right = K[left].argmax(axis=1)
    exact, theory = {}, {}
    for kernel in KERNELS.values():
        values = np.diagonal(getattr(ck, kernel)(sample[left], sample[right]))
        exact[kernel] = values.astype(np.float64)
        pairs = (sample[[i, j]] for i, j in zip(left, right, strict=True))
        theory[kernel] = np.array([variance(pair, kernel, N_HASHES) for pair in pairs])
    return sample[np.concatenate([left, right])], exact, theory


def _learned(data: Any, scheme: str, setting: Setting) -> tuple[float, float]:
    hasher = ck.CoREHasher(
        "core1", LEARNED_HASHES, scheme=scheme, random_state=setting.seed, n_jobs=setting.n_jobs
    ).fit(data.X_train)
    hasher.sketch(data.X_train[:10])  # compiled before the clock runs
    start = time.perf_counter()
    S_train = hasher.sketch(data.X_train)
    seconds = time.perf_counter() - start
    model = ck.linear.HashedLinearClassifier(random_state=setting.seed, n_jobs=setting.n_jobs)
    model.fit(S_train, data.y_train)
    return percent(model.score(hasher.sketch(data.X_test), data.y_test)), seconds


EXPERIMENT = Experiment(
    "schemes", "Beyond the paper: cheaper ways to hash",
    {"quick": ["digits"], "full": ["m-rotate", "20news"]}, measure, draw,
)  # fmt: skip
