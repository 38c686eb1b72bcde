"""Beyond the paper: circulant against independent hashing, Gaussian against +-1 projections.

Mean square errors over many pairs of rows, relative to the variance that the theorems give for
independent hashes and Gaussian projections.
"""

import time
from typing import Any

import numpy as np

import corekernels as ck

from ..._core.types import Array
from ...report import Table
from .experiment import HASH_REVISION, Drawn, Experiment, Record, Records, Setting, seeds
from .figure3 import KERNELS, variance
from .published import percent, provenance, title_of

N_PAIRS = 40
N_HASHES = 256
VARIANTS: dict[str, dict[str, Any]] = {
    "independent, Gaussian": {"scheme": "independent"},
    "independent, ±1": {"scheme": "independent", "projection": "rademacher"},
    "circulant, Gaussian": {"scheme": "circulant"},
    "circulant, ±1": {"scheme": "circulant", "projection": "rademacher"},
    "one-permutation, Gaussian": {"scheme": "one-permutation"},
}
LEARNED_HASHES = 1024


def measure(name: str, setting: Setting) -> Record:
    """For each variant: errors of both estimators, accuracy of a classifier, seconds to hash."""
    data = setting.load(name)
    n_seeds, rows = 200 if setting.full else 30, np.arange(N_PAIRS)
    X, exact, theory = _close_pairs(data.X_train, setting)
    results: Record = {
        "data": provenance(data), "n_seeds": n_seeds, "k": N_HASHES, "timings": {}
    }  # fmt: skip
    for title, options in VARIANTS.items():
        found: Record = {}
        for kernel in KERNELS.values():
            squares = np.zeros(N_PAIRS)
            for seed in seeds(setting.seed, n_seeds):
                hasher = ck.CoREHasher(kernel, N_HASHES, n_bits=None, random_state=seed, **options)
                S = hasher.fit(X).sketch(X)
                estimates = S.estimate_pairs(rows, rows + N_PAIRS, return_std=False)
                squares += (estimates - exact[kernel]) ** 2
            ratios = squares / n_seeds / theory[kernel]
            found[kernel] = round(float(np.mean(ratios)), 3)
            found[f"{kernel}, error"] = round(float(np.std(ratios, ddof=1) / N_PAIRS**0.5), 3)
        found["accuracy"], results["timings"][title] = _learned(data, options, setting)
        results[title] = found
    return results


def draw(records: Records) -> Drawn:
    """One table per data set."""
    tables = []
    for name, results in records.results("schemes").items():
        rows = []
        for title in VARIANTS:
            found, seconds = results[title], results["timings"][title]
            errors = [f"{found[k]:.2f} ± {found[f'{k}, error']:.2f}" for k in KERNELS.values()]
            rows.append([title, *errors, f"{found['accuracy']:.1f}", f"{seconds:.2g}"])
        caption = (
            f"{title_of(name)}: mean square error relative to the theorems (k = {results['k']}"
            f", {N_PAIRS} close pairs, {results['n_seeds']} seeds), and a linear SVM on "
            "hashed CoRE 1."
        )
        learned = f"accuracy at k = {LEARNED_HASHES}, %"
        tables.append(Table(caption, ["hashing", *KERNELS, learned, "seconds to hash"], rows))
    text = (
        "The paper assumes k independent permutations and Gaussian projections. Cheaper are: "
        "one permutation, shifted circularly k times (the default here); ±1 in place of "
        "Gaussians (CoRE 2 has no projections); one permutation divided into k bins, which "
        "reads each value once and is fast on long rows, while bins that stay empty add to "
        "the errors of rows shorter than k. A ratio of 1 is the theorems' variance."
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


def _learned(data: Any, options: Any, setting: Setting) -> tuple[float, float]:
    hasher = ck.CoREHasher(
        "core1", LEARNED_HASHES, random_state=setting.seed, n_jobs=setting.n_jobs, **options
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
    {"quick": ["digits"], "full": ["m-rotate", "20news"]}, measure, draw, HASH_REVISION,
)  # fmt: skip
