"""
Error of the estimators against the number of hashes
====================================================

The mean square error of the hashed kernels falls as 1 / k, exactly as the paper's theorems say
(its Figure 3). Two pairs of word vectors, one of frequent words and one of rare words that go
together, as raw counts and binarised. On heavy-tailed counts the estimator of CoRE 2 is much
worse than that of CoRE 1; on binary rows it is the better one.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

import corekernels as ck
from corekernels import theory

HASHES = (1, 3, 10, 30, 100, 300, 1000)
REPEATS = 100


def word_pair(rng: np.random.Generator, n_documents: int, frequency: float, shared: float):
    """Two words' counts in documents: heavy-tailed, with a share of documents in common."""
    topic = rng.random(n_documents) < frequency
    present = np.array([topic & (rng.random(n_documents) < shared) for _ in range(2)])
    counts = np.ceil(rng.pareto(1.2, n_documents) + rng.pareto(2, (2, n_documents)))
    return sparse.csr_array(present * counts)


def formula(kernel: str, X: sparse.csr_array, k: int) -> float:
    """The variance the theorems give."""
    variance = {"core1": theory.variance_core1, "core2": theory.variance_core2}[kernel]
    return variance(theory.Pair.of(*X.toarray()), k)


def mean_square_error(kernel: str, X: sparse.csr_array, k: int) -> float:
    """The error of many estimates with different seeds, by the paper's own scheme."""
    exact = getattr(ck, kernel)(X)[0, 1]
    hasher = ck.CoREHasher(kernel, k * REPEATS, n_bits=None, scheme="independent", random_state=0)
    S = hasher.fit(X).sketch(X)
    products = (S.codes[0] == S.codes[1]) * np.prod(S.weights.astype(float), axis=0)
    estimates = products.reshape(REPEATS, k).mean(axis=1)
    return np.mean((estimates - exact) ** 2)


rng = np.random.default_rng(0)
pairs = {
    "frequent words": word_pair(rng, 4000, 0.6, 0.8),
    "rare words": word_pair(rng, 4000, 0.02, 0.9),
}
figure, axes = plt.subplots(2, 2, figsize=(9, 7), sharex=True, sharey=True, layout="constrained")
for row, (name, counts) in zip(axes, pairs.items(), strict=True):
    for axis, (kind, X) in zip(
        row, {"counts": counts, "binarised": counts != 0}.items(), strict=True
    ):
        X = X.astype(np.float64)
        for kernel, colour in (("core1", "tab:blue"), ("core2", "tab:orange")):
            label = "CoRE " + kernel[-1]
            errors = [mean_square_error(kernel, X, k) for k in HASHES]
            axis.loglog(HASHES, errors, "o", color=colour, label=f"{label}, measured")
            theoretical = [formula(kernel, X, k) for k in HASHES]
            axis.loglog(HASHES, theoretical, "-", color=colour, label=f"{label}, theorem")
        axis.set_title(f"{name}, {kind}")
        axis.grid(alpha=0.3)
axes[0, 0].legend()
figure.supxlabel("number of hashes, k")
figure.supylabel("mean square error")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
else:
    plt.show()
