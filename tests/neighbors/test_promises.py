"""Tuning keeps what it promises: over methods, kernels, numbers of neighbours and kinds of rows.

Fresh queries are those rows that were not indexed. The recall found is a mean over queries, whose
standard error is that of their shares; so is the estimate, over the queries held out. A single
promise may be broken by as much as sampling errors allow: five of them, so that none of thousands
breaks by chance, and two in all but a small part of them.
"""

import itertools
import warnings
from functools import cache
from zlib import crc32

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom

import corekernels as ck
from corekernels.kernel_table import KERNELS
from corekernels.neighbors.candidates import METHODS as BY_NAME
from support.clusters import clustered, topical
from support.indexes import with_short_tail

N_ROWS, N_QUERIES = 3000, 400
COUNTS = (1, 2, 5, 10, 20, 48, 50, 51, 100, 200, 400, 1000)
METHODS = ("auto", "inverted", "graph", "lsh")
WANTED = (0.8, 0.95)


def short_text(n, seed):
    return topical(n, 20_000, 9, seed)


def long_text(n, seed):
    return topical(n, 20_000, 90, seed)


def images(n, seed):
    rows = clustered(n, 256, 80, seed, spread=0.2, evenness=0.5)
    rows.data = np.clip(np.ceil(rows.data * 40), 1, 255).astype(np.float32)
    return rows


def dense(n, seed):
    return clustered(n, 64, 64, seed, dense=True, spread=0.4, evenness=0.5)


def wide(n, seed):
    rows = clustered(n, 3000, 40, seed, evenness=0.5)
    columns = np.sort(np.random.default_rng(seed).integers(0, 2**62, 3000, dtype=np.int64))
    parts = rows.data, columns[rows.indices], rows.indptr.astype(np.int64)
    return sparse.csr_array(parts, shape=(n, 2**62))


def skewed(n, seed):
    """Rows from one nonzero to hundreds, a few common columns, and many rows alike."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(1 + rng.pareto(0.8, n).astype(int), 400)
    columns = np.minimum(rng.pareto(0.7, lengths.sum()).astype(int), 4999)
    values = rng.lognormal(sigma=2.0, size=len(columns)).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    rows = sparse.csr_array((values, columns, indptr), (n, 5000))
    rows.sum_duplicates()
    return rows[rng.integers(0, n - n // 4, n)]


KINDS = {kind.__name__: kind for kind in (short_text, long_text, images, dense, wide, skewed)}


@cache
def rows_of(kind):
    rows = KINDS[kind](N_ROWS + N_QUERIES, 0)
    return rows[:N_ROWS], rows[N_ROWS:]


@cache
def truth_of(kind, kernel):
    """Distances of the nearest rows of each query, as many as any test asks for."""
    X, Q = rows_of(kind)
    exact = ck.CoRENeighbors(kernel, max(COUNTS), method="exact", gamma=None).fit(X)
    return exact.kneighbors(Q)[0]


def promise(kind, kernel, method, k, wanted):
    """Share of the true neighbours found for each query, the estimate, and the method in use."""
    X, Q = rows_of(kind)
    # other queries are held out for each case, so that their chances are independent
    seed = crc32(repr((kind, kernel, method, k, wanted)).encode())
    index = ck.CoRENeighbors(kernel, k, method=method, recall=wanted, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # exact search in its place keeps any promise
        index.fit(X)
    hits = index.kneighbors(Q)[0] <= truth_of(kind, kernel)[:, k - 1 : k]
    return hits.mean(axis=1), index.estimated_recall_, index.method_


def surprise(shares, expected):
    """How many standard errors the mean of shares is below what was expected, or apart from it.

    As in tuning, one more query that finds nothing keeps the error of equal shares above 0.
    """
    error = np.append(shares, 0.0).std() / np.sqrt(len(shares) + 1)
    return (expected - shares.mean()) / error


def results_of(cases):
    """For each case the standard errors by which the promise is broken, and the estimate is off."""
    results = []
    for case in cases:
        shares, estimate, in_use = promise(*case)
        if in_use == "exact":
            assert shares.mean() == estimate == 1, case
            continue
        # both are means, of about as many queries
        apart = abs(surprise(shares, estimate)) / np.sqrt(2)
        results.append((surprise(shares, case[-1]), apart, shares.mean(), estimate, *case))
    return results


def cases_of(kind, kernel):
    serving = [method for method in METHODS if method == "auto" or BY_NAME[method].serves(kernel)]
    return list(itertools.product([kind], [kernel.name], serving, COUNTS, WANTED))


def check(cases):
    results = results_of(cases)
    assert not [result for result in results if max(result[:2]) > 5]
    # of independent cases two errors are passed on one side by 2.3 %, on either by 4.6 %
    broken, _ = np.array([result[:2] for result in results]).T
    assert np.count_nonzero(broken > 2) <= binom.ppf(0.9999, len(broken), 0.023)


CHANGED = [
    ("short_text", "correlation", "inverted", 10),
    ("short_text", "inner_product", "inverted", 10),
    ("images", "core1", "graph", 10),
    ("dense", "correlation", "graph", 20),
    ("wide", "resemblance", "lsh", 10),
]


@pytest.mark.filterwarnings("ignore:graph|inverted|[0-9]+ tables:UserWarning")
@pytest.mark.parametrize(("kind", "kernel", "method", "k"), CHANGED)
def test_promises_outlive_changes(kind, kernel, method, k, tmp_path):
    """A tenth of the rows added, another removed, the file memory-mapped: as good, no dearer.

    A method that has taken rows in costs more in proportion, and looks for more candidates as some
    of them were removed: a fifth in all. Rows that have just been added are searched exactly.
    """
    X, Q = rows_of(kind)
    n_old, n_gone = N_ROWS * 10 // 11, N_ROWS // 11
    options = {"method": method, "recall": 0.9, "random_state": 0}
    truth = ck.CoRENeighbors(kernel, k, method="exact").fit(X[n_gone:]).kneighbors(Q)[0][:, -1:]
    index = ck.CoRENeighbors(kernel, k, **options).fit(X[:n_old])
    cost = index._snapshot.main.cost
    grown = with_short_tail(index, 1)
    grown.add(X[n_old:])
    assert (grown._snapshot.tail, len(grown._snapshot.main.store)) == (None, N_ROWS)
    fresh = ck.CoRENeighbors(kernel, k, **options).fit(X[:n_old])
    fresh.add(X[n_old:])
    for changed in (grown, fresh):
        changed.remove(np.arange(n_gone))
        changed.save(tmp_path / "index")
        for one in (changed, ck.CoRENeighbors.load(tmp_path / "index")):
            assert one.method_ == method
            assert surprise((one.kneighbors(Q)[0] <= truth).mean(axis=1), 0.9) <= 3
            assert one._snapshot.main.cost <= 1.2 * cost


EVERYDAY = [
    ("short_text", "correlation", "auto", 10, 0.95),
    ("short_text", "core1", "inverted", 50, 0.95),
    ("long_text", "core1", "auto", 10, 0.95),
    ("long_text", "correlation", "inverted", 100, 0.8),
    ("images", "core1", "graph", 10, 0.95),
    ("images", "resemblance", "lsh", 50, 0.8),
    ("dense", "correlation", "graph", 5, 0.95),
    ("dense", "core2", "auto", 48, 0.8),
    ("wide", "core2", "inverted", 1, 0.95),
    ("wide", "resemblance", "auto", 200, 0.95),
    ("skewed", "core_rbf", "inverted", 10, 0.95),
    ("skewed", "core1", "auto", 51, 0.8),
]


def test_promises_are_kept():
    check(EVERYDAY)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_promise_is_kept(kind, kernel):
    check(cases_of(kind, KERNELS[kernel]))


if __name__ == "__main__":  # a piece of them: python test_promises.py images,wide core1,core2
    import sys
    import time

    for kind, kernel in itertools.product(sys.argv[1].split(","), sys.argv[2].split(",")):
        start, cases, results = time.process_time(), cases_of(kind, KERNELS[kernel]), []
        for case in cases:
            results += results_of([case])
        broken, apart = np.array([result[:2] for result in results]).reshape(-1, 2).T
        for result in results:
            if max(result[:2]) > 2:
                print(*result)
        print(
            f"{kind}, {kernel}: {len(cases)} cases, {len(results)} not by exact search, of which "
            f"{np.count_nonzero(broken > 2)} miss the recall asked for and "
            f"{np.count_nonzero(apart > 2)} the estimate by two standard errors; "
            f"{time.process_time() - start:.0f} s",
            flush=True,
        )
