"""
Error of the estimates against the number of hashes
===================================================

How exactly do k hashes estimate a kernel value? The mean square error falls as 1 / k, just as
the theorems of the paper say (:doc:`/theory`). Two pairs of word vectors, one of frequent words
and one of rare words that occur together, as raw counts and binarised. Counts have heavy tails;
there CoRE 2 needs many more hashes than CoRE 1. On binary rows it is the better one.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

import corekernels as ck
from corekernels import theory

HASHES = (1, 3, 10, 30, 100, 300)
REPEATS = 200
VARIANCE = {"core1": theory.variance_core1, "core2": theory.variance_core2}


def word_pair(rng, n_documents, frequency, shared):
    """Counts of two words in documents: heavy-tailed, with a share of documents in common."""
    topic = rng.random(n_documents) < frequency
    present = np.array([topic & (rng.random(n_documents) < shared) for _ in range(2)])
    counts = np.ceil(rng.pareto(2.5, n_documents) + rng.pareto(3, (2, n_documents)))
    return sparse.csr_array(present * counts)


def squared_errors(kernel, X):
    """Mean square error for each number of hashes, each estimated two hundred times."""
    exact = getattr(ck, kernel)(X)[0, 1]
    n_hashes = max(HASHES) * REPEATS
    hasher = ck.CoREHasher(kernel, n_hashes, n_bits=None, scheme="independent", random_state=0)
    S = hasher.fit(X).sketch(X)
    slots = (S.codes[0] == S.codes[1]) * np.prod(S.weights.astype(float), axis=0)
    estimates = [slots[: k * REPEATS].reshape(REPEATS, k).mean(axis=1) for k in HASHES]
    return [np.mean((estimate - exact) ** 2) for estimate in estimates]


rng = np.random.default_rng(0)
words = {
    "frequent words": word_pair(rng, 2000, 0.6, 0.8),
    "rare words": word_pair(rng, 2000, 0.02, 0.9),
}
figure, grid = plt.subplots(2, 2, figsize=(9, 6.5), sharex=True, sharey=True, layout="constrained")
for line, (name, counts) in zip(grid, words.items(), strict=True):
    for axes, kind, X in zip(line, ("counts", "binarised"), (counts, counts != 0), strict=True):
        X = X.astype(np.float64)
        for kernel, colour in (("core1", "tab:orange"), ("core2", "tab:blue")):
            label = f"CoRE {kernel[-1]}"
            theorem = [VARIANCE[kernel](theory.Pair.of(*X.toarray()), k) for k in HASHES]
            axes.loglog(HASHES, theorem, "-", color=colour, label=f"{label}, theorem")
            axes.loglog(HASHES, squared_errors(kernel, X), "o", color=colour, label="measured")
        axes.set_title(f"{name}, {kind}")
        axes.grid(alpha=0.3)
grid[0, 1].legend()
figure.supxlabel("number of hashes, k")
figure.supylabel("mean square error of the kernel value")
plt.show()
