"""
Near-duplicates found, and how many are missed
==============================================

Six hundred rows of counts, of which every third is a copy of another with some of its columns
changed. ``near_duplicates`` finds all pairs whose kernel value reaches a threshold. Candidates
come from hash tables, which may miss a pair with a small, known probability; each candidate is
compared exactly, so that nothing below the threshold is reported.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

import corekernels as ck

rng = np.random.default_rng(0)
ORIGINALS, COPIES, COLUMNS = 400, 200, 5000
X = sparse.random_array((ORIGINALS, COLUMNS), density=0.02, rng=rng).toarray()
X = np.ceil(5 * X)
copies = X[rng.integers(0, ORIGINALS, COPIES)]
changed = rng.random(copies.shape) < 0.5 * rng.random((COPIES, 1))  # of each, another share
copies[changed] = np.roll(copies, 1, axis=1)[changed]
rows = sparse.csr_array(np.vstack([X, copies]))

THRESHOLD = 0.7
index = ck.CoRENeighbors("core1", random_state=0).fit(rows)
found = index.near_duplicates(THRESHOLD)
every = ck.core1(rows)[np.triu_indices(rows.shape[0], 1)]
print(f"{len(found.pairs)} pairs found; {np.sum(every >= THRESHOLD)} there are")

figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
bins = np.linspace(0.1, 1, 46)
axes.hist(every, bins=bins, color="tab:gray", label="all pairs")
axes.hist(found.similarities, bins=bins, color="tab:orange", label="found")
axes.axvline(THRESHOLD, color="tab:red", linestyle=":", label="threshold")
axes.set(title="Pairs by their kernel value", xlabel="CoRE 1 kernel value", ylabel="pairs")
axes.set(xlim=(0.1, 1))
axes.legend()

# %%
# With 64 tables of m hashes, a pair of resemblance R is missed with probability
# :math:`(1 - R^m)^{64}`. The number m is chosen so that at most one pair in a thousand is missed
# at the threshold; above it, misses vanish quickly.

R = np.linspace(0.3, 1, 200)
figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
for threshold, colour in ((0.5, "tab:blue"), (0.7, "tab:orange"), (0.9, "tab:green")):
    m = ck.theory.slots_allowed(threshold, 64, 0.999)
    missed = [100 * ck.theory.miss_rate(value, m, 64) for value in R]
    axes.plot(R, missed, color=colour, label=f"threshold {threshold}: m = {m}")
    axes.axvline(threshold, color=colour, linestyle=":")
axes.set(title="Pairs that hash tables miss", xlabel="resemblance R", ylabel="missed, %")
axes.grid(alpha=0.3)
axes.legend()
plt.show()
