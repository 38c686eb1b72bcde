"""Arrays that every processor should give alike; as a program, it writes them to a file.

The program is for processes whose code is made for another processor: `processors.py WHAT FILE`.
"""

import sys

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

import corekernels as ck

KERNELS = ("resemblance", "core1", "core2", "core_rbf")
SHAPES = (("circulant", 784), ("circulant", 10**6), ("independent", 784), ("independent", 10**6))
LENGTHS = (1,) * 60 + (2, 7, 64, 300, 700)  # those of one are the numbers themselves, zeros too


def signatures():
    """Signatures of rows of several lengths, the first of them of one nonzero each."""
    found = {}
    for scheme, n_columns in SHAPES:
        rng = np.random.default_rng(n_columns)
        columns = [np.sort(rng.choice(n_columns, n, replace=False)) for n in LENGTHS]
        values, indptr = rng.normal(size=sum(LENGTHS)), np.cumsum([0, *LENGTHS])
        X = sparse.csr_array((values, np.concatenate(columns), indptr), (len(LENGTHS), n_columns))
        for kernel in KERNELS:
            S = ck.CoREHasher(kernel, 130, scheme=scheme, random_state=0).fit(X).sketch(X)
            arrays = {**S.arrays(), "estimates": S.estimate()}
            found |= {f"{kernel}/{scheme}/{n_columns}/{name}": arrays[name] for name in arrays}
    return found


def answers():
    """What is learned and found with hashes: predictions, neighbours and near-duplicates."""
    X, y = load_digits(return_X_y=True)
    rows, labels, queries = X[:600], y[:600], X[600:900]
    model = ck.CoREClassifier("core1", 128, random_state=0).fit(rows, labels)
    found = {"predictions": model.predict(queries)}
    for method in ("exact", "graph", "lsh"):
        index = ck.CoRENeighbors("core1", 5, method=method, random_state=0).fit(rows)
        _, found[f"neighbours by {method}"] = index.kneighbors(queries)
        found[f"duplicates by {method}"] = index.near_duplicates(0.9).pairs
    return found


if __name__ == "__main__":
    np.savez(sys.argv[2], **globals()[sys.argv[1]]())
