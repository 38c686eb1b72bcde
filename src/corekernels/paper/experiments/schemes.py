"""Beyond the paper: circulant against independent hashing, Gaussian against +-1 projections.

Mean square errors over many pairs of rows, relative to the variance that the theorems give for
independent hashes and Gaussian projections.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import corekernels as ck

from ...report import Section, Table
from .experiment import (
    HASH_REVISION,
    Experiment,
    Record,
    Records,
    Setting,
    percent,
    provenance,
    seeds,
)
from .figure3 import KERNELS, variance
from .published import title_of

Array = npt.NDArray[Any]

N_PAIRS = 40
N_HASHES = 256
VARIANTS = {
    "independent, Gaussian": {"scheme": "independent"},
    "independent, ±1": {"scheme": "independent", "projection": "rademacher"},
    "circulant, Gaussian": {"scheme": "circulant"},
    "circulant, ±1": {"scheme": "circulant", "projection": "rademacher"},
    "one-permutation, Gaussian": {"scheme": "one-permutation"},
}
LEARNED_HASHES = 1024


def _parts(setting: Setting) -> Sequence[str]:
    return ["m-rotate", "20news"] if setting.full else ["digits"]


def measure(name: str, setting: Setting) -> Record:
    """For each variant: errors of both estimators, accuracy of a classifier, seconds to hash."""
    data = setting.load(name)
    n_seeds = 200 if setting.full else 30
    X, exact, theory = _close_pairs(data.X_train, setting)
    results: Record = {"data": provenance(data), "n_seeds": n_seeds, "k": N_HASHES}
    results["timings"] = {}
    for title, options in VARIANTS.items():
        found: Record = {}
        for kernel in KERNELS.values():
            squares = np.zeros(N_PAIRS)
            for seed in seeds(setting.seed, n_seeds):
                S = _sketch(X, kernel, seed, options)
                estimates = S.estimate_pairs(
                    np.arange(N_PAIRS), np.arange(N_PAIRS) + N_PAIRS, return_std=False
                )
                squares += (estimates - exact[kernel]) ** 2
            ratios = squares / n_seeds / theory[kernel]
            found[kernel] = round(float(np.mean(ratios)), 3)
            found[f"{kernel}, error"] = round(float(np.std(ratios, ddof=1) / N_PAIRS**0.5), 3)
        found["accuracy"], results["timings"][title] = _learned(data, options, setting)
        results[title] = found
    return results


def draw(records: Records) -> Section:
    """One table per data set."""
    tables = []
    for name, results in records.results("schemes").items():
        rows = []
        for title in VARIANTS:
            found, seconds = results[title], results["timings"][title]
            errors = [_with_error(found, kernel) for kernel in KERNELS.values()]
            rows.append([title, *errors, f"{found['accuracy']:.1f}", f"{seconds:.2g}"])
        tables.append(
            Table(
                f"{title_of(name)}: mean square error relative to the theorems (k = {results['k']}"
                f", {N_PAIRS} close pairs, {results['n_seeds']} seeds), and a linear SVM on "
                "hashed CoRE 1.",
                [
                    "hashing",
                    *KERNELS,
                    f"accuracy at k = {LEARNED_HASHES}, %",
                    "seconds to hash",
                ],
                rows,
            )
        )
    return Section(
        name="schemes",
        title="Beyond the paper: cheaper ways to hash",
        text=(
            "The paper assumes k independent permutations and Gaussian projections. Cheaper are: "
            "one permutation, shifted circularly k times (the default here); ±1 in place of "
            "Gaussians (CoRE 2 has no projections); one permutation divided into k bins, which "
            "reads each value once and is fast on long rows, while bins that stay empty add to "
            "the errors of rows shorter than k. A ratio of 1 is the theorems' variance.",
        ),
        tables=tables,
        notes=records.notes("schemes"),
    )


def _with_error(found: Record, kernel: str) -> str:
    return f"{found[kernel]:.2f} ± {found[f'{kernel}, error']:.2f}"


def _close_pairs(X: Any, setting: Setting) -> tuple[Any, dict[str, Array], dict[str, Array]]:
    """Rows with their nearest neighbours: rows first, neighbours after them."""
    sample = X[: min(2000, X.shape[0])]
    K = np.array(ck.core1(sample, n_jobs=setting.n_jobs))
    np.fill_diagonal(K, -1)
    usable = np.flatnonzero(K.max(axis=1) < 0.98)  # equal rows have no error to measure
    usable = usable[K[usable].max(axis=1) > 0]
    left = np.random.default_rng(setting.seed).choice(usable, N_PAIRS, replace=False)
    right = K[left].argmax(axis=1)
    rows = sample[np.concatenate([left, right])]
    exact = {
        kernel: np.diagonal(getattr(ck, kernel)(sample[left], sample[right])).astype(np.float64)
        for kernel in KERNELS.values()
    }
    theory = {
        kernel: np.array(
            [variance(sample[[i, j]], kernel, N_HASHES) for i, j in zip(left, right, strict=True)]
        )
        for kernel in KERNELS.values()
    }
    return rows, exact, theory


def _sketch(X: Any, kernel: str, seed: int, options: Any) -> Any:
    hasher = ck.CoREHasher(kernel, N_HASHES, n_bits=None, random_state=seed, **options)
    return hasher.fit(X).sketch(X)


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


EXPERIMENT = Experiment("schemes", _parts, measure, draw, HASH_REVISION)
