"""Near-duplicates of files are those of matrices in memory, in memory that is stated."""

import contextlib
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import corekernels as ck
from corekernels import files, io
from corekernels.errors import DataError, FileError, ParameterError
from corekernels.files import dedup
from corekernels.files.dedup_parts import DedupJob
from corekernels.kernel_table import CORE1, CORE2
from corekernels.neighbors.duplicates.candidates import key_pairs, plan_tables, table_pairs
from corekernels.neighbors.duplicates.copies import (
    count_with_copies,
    equal_pairs,
    find_copies,
    pairs_with_copies,
)
from corekernels.neighbors.duplicates.rows import Pairs
from corekernels.neighbors.duplicates.search import Criterion
from support import oracles, peaks
from support.clusters import clustered
from support.readers import Rows


def in_file(reader, threshold, kernel, megabytes, seed, plan=None):
    """Near-duplicates of a file, in so much memory, by given tables."""
    criterion = Criterion.of(kernel, threshold, seed)
    criterion = replace(criterion, tables=plan or criterion.tables)
    job = DedupJob("", criterion, 8, None, 1e6 * megabytes, True, 10**7, None)
    with contextlib.ExitStack() as stack:
        parts = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "parts"
        return dedup._search_readers(job, [reader], parts, False, False, stack)


CASES = [
    ("core1", 0.9),
    ("core1", 0.6),
    ("resemblance", 0.8),
    ("core2", 0.85),
    ("core1", 1.0),
    ("core_rbf", 0.7),
]


@pytest.fixture(scope="module")
def X():
    """5000 rows with near ones, copies of some, multiples of some, and empty ones."""
    rng = np.random.default_rng(0)
    X = clustered(5000, 300, 30).toarray()
    X[3000:3300] = X[:300] * (rng.random((300, 300)) > 0.03)
    X[4000:4020] = X[4020:4040] = X[:20]
    X[4100:4130] = X[7]
    X[4200:4210] = 2 * X[10:20]
    X[4300:4303] = 0
    return sparse.csr_array(X)


@pytest.mark.parametrize(("kernel", "threshold"), CASES)
def test_a_file_has_the_pairs_of_a_matrix(X, kernel, threshold):
    X = X[-2300:]
    index = ck.CoRENeighbors(kernel, method="exact", random_state=3).fit(X)
    expected = index.near_duplicates(threshold)
    n_copies = 2300 - 2 - len(np.unique(X.toarray(), axis=0))  # empty rows are no copies
    for size, memory in ((2300, 1024), (700, 1.2), (401, 0.1)):  # the last holds few rows
        found = in_file(Rows(X, size=size), threshold, kernel, memory, 3)
        np.testing.assert_array_equal(found.pairs, expected.pairs)
        # two copies may be compared in the other order, and be summed in it
        np.testing.assert_allclose(found.similarities, expected.similarities, rtol=1e-14)
        assert found.expected_missed == expected.expected_missed < 0.001
        assert (found.rows, found.copies) == (2300, n_copies)


@pytest.mark.parametrize("n_rows", [5000, 3500])
def test_copies_once_keeps_the_groups(X, n_rows):
    X = X[-n_rows:]
    whole = files.near_duplicates(Rows(X, size=999), 0.9)
    once = files.near_duplicates(Rows(X, size=999), 0.9, all_pairs=False)
    assert len(once.pairs) < len(whole.pairs)
    assert set(map(tuple, once.pairs.tolist())) < set(map(tuple, whole.pairs.tolist()))
    for a, b in zip(once.groups(), whole.groups(), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(once.redundant(), whole.redundant())
    assert len(whole.redundant()) == sum(len(group) - 1 for group in whole.groups())


def test_what_is_missed_is_what_theory_expects(X):
    """With one table misses can be counted; each pair has its own chance, by its R."""
    left, right = ck.CoRENeighbors(method="exact").fit(X).near_duplicates(0.8).pairs.T
    R = np.array([oracles.resemblance(X[[i]].toarray(), X[[j]].toarray())[0, 0]
                  for i, j in zip(left, right, strict=True)])  # fmt: skip
    plan = replace(plan_tables(CORE1, 0.8), n_tables=1)
    chance = R**plan.n_slots
    found = [in_file(Rows(X, size=1000), 0.8, "core1", 4, seed, plan) for seed in range(20)]
    counts = [len(some.pairs) for some in found]
    assert np.mean(counts) < len(left)
    error = np.std(counts, ddof=1) / np.sqrt(20)
    assert abs(np.mean(counts) - chance.sum()) < 5 * error


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9))
def test_core2_above_t_has_resemblance_above_2t_minus_1(f1, f2, shared):
    shared = min(shared, f1, f2)
    R = shared / (f1 + f2 - shared)
    assert np.sqrt(f1 * f2) / (f1 + f2 - shared) <= (1 + R) / 2 + 1e-12


def test_tables_only_where_they_tell_enough():
    assert plan_tables(CORE2, 0.5) is None
    assert plan_tables(CORE2, 0.73) is None
    assert plan_tables(CORE2, 0.74).n_slots == 3
    assert plan_tables(CORE1, 0.46) is None
    assert plan_tables(CORE1, -1) is None
    assert plan_tables(CORE1, 0.47).missed < 0.001
    assert plan_tables(CORE1, 1.0).missed == 0


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), max_size=30), st.integers(1, 4), st.integers(-1, 60))
def test_candidates_are_all_pairs_of_equal_keys(values, n_tables, boundary):
    values, rows = np.array(values, np.uint64), 2 * np.arange(len(values))
    boundary = None if boundary < 0 else boundary
    expected = sorted(
        (200 * i + 2 * j) if boundary is None else (2 * i + 200 * j)
        for j in range(len(values)) for i in range(j) if values[i] == values[j]
        and (boundary is None or 2 * i < boundary <= 2 * j)
    )  # fmt: skip
    keys, of_keys = np.repeat(values, n_tables), np.repeat(rows, n_tables)
    is_some = np.random.default_rng(0).permutation(len(keys))
    keys = keys * np.uint64(n_tables) + np.tile(np.arange(n_tables, dtype=np.uint64), len(values))
    found = key_pairs(keys[is_some], of_keys[is_some], 100, boundary, None)
    assert found.tolist() == expected
    for most in (1, 5, 10**6):
        every = np.repeat(values[None], n_tables, axis=0)
        portions = [np.empty(0), *table_pairs(every, rows, 100, boundary, most)]
        assert sorted(np.concatenate(portions).tolist()) == expected
        assert max(map(len, portions)) <= max(most, 2 * len(values))


def test_a_large_bucket_is_paired_with_its_first_rows():
    keys, rows = np.repeat(np.arange(2, dtype=np.uint64), [900, 20]), np.arange(920)
    n_small = 20 * 19 // 2
    for largest, n_pairs in ((None, 900 * 899 // 2), (899, sum(899 - n for n in range(16)))):
        pairs = key_pairs(keys, rows, 920, None, largest)
        assert len(pairs) == n_pairs + n_small
        assert len(np.unique(pairs)) == len(pairs)
        left, right = np.divmod(pairs, 920)
        assert (left < right).all()
        assert left[left < 900].max() == (898 if largest is None else 15)


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.data())
def test_copies_are_expanded_to_all_pairs(kinds, data):
    """Rows of one kind are equal; some kinds are near each other."""
    kinds = np.array(kinds)
    near = {pair for pair in ((0, 1), (1, 2), (0, 3)) if data.draw(st.booleans())}
    near |= {pair[::-1] for pair in near}
    digests = np.stack([kinds.astype(np.uint64)] * 2, axis=1)
    copies = find_copies(digests, np.arange(len(kinds)))
    first = np.arange(len(kinds))
    first[copies.rows] = copies.firsts
    alike = lambda i, j: kinds[i] == kinds[j] or (kinds[i], kinds[j]) in near  # noqa: E731
    every = [(i, j) for j in range(len(kinds)) for i in range(j) if alike(i, j)]
    few = [(i, j) for i, j in every if first[i] == i and first[j] == j]
    n = len(kinds)
    pairs = Pairs(np.array([i * n + j for i, j in few], np.int64), np.ones(len(few)))
    both = Pairs.joined([equal_pairs(copies, n, True), pairs])
    assert count_with_copies(both, copies, n) == len(every)
    numbers, _ = pairs_with_copies(both, copies, n)
    assert sorted(numbers.tolist()) == sorted(i * n + j for i, j in every)
    of_firsts = {first[row] * n + row for row in range(n) if first[row] != row}
    assert set(equal_pairs(copies, n, False).numbers.tolist()) == of_firsts


def test_files_of_pairs_groups_and_rows(X, tmp_path):
    y = np.arange(5000) % 3
    found = files.near_duplicates(Rows(X, y, 1000), 0.95)
    files.write_pairs(found, tmp_path / "pairs")
    lines = np.loadtxt(tmp_path / "pairs", skiprows=1)
    np.testing.assert_array_equal(lines[:, :2], found.pairs)
    np.testing.assert_allclose(lines[:, 2], found.similarities, atol=1e-6)
    files.write_groups(found, tmp_path / "groups")
    row, group = np.loadtxt(tmp_path / "groups", skiprows=1, dtype=int).T
    np.testing.assert_array_equal(np.sort(row[row != group]), found.redundant())
    n_kept = Rows(X, y, 1000).write_without(tmp_path / "kept.npz", found.redundant())
    Z, labels = io.read_rows(tmp_path / "kept.npz")
    kept = np.setdiff1d(np.arange(5000), found.redundant())
    assert n_kept == len(kept)
    np.testing.assert_array_equal(labels, y[kept])
    assert (X[kept] != Z).nnz == 0
    again = files.near_duplicates(Rows(Z), 0.95)
    assert len(again.redundant()) <= 1  # of pairs missed before, of which 0.1 % are expected


def test_errors(X, tmp_path):
    source = Rows(X[:10])
    for threshold in (0, -0.5, 1.5, np.nan, "high"):
        with pytest.raises(ParameterError, match="threshold: got"):
            files.near_duplicates(source, threshold)
    with pytest.raises(ParameterError, match="kernel: got 'rbf'"):
        files.near_duplicates(source, 0.5, "rbf")
    with pytest.raises(ParameterError, match="seed: got -1"):
        files.near_duplicates(source, 0.5, seed=-1)
    with pytest.raises(DataError, match="more than 100 pairs of rows are alike; raise"):
        files.near_duplicates(Rows(X), 0.9, most_pairs=100)
    with pytest.raises(DataError, match="more than 9 pairs of rows are alike; raise"):
        files.near_duplicates(Rows(X[-900:]), 0.9, most_pairs=9)
    with pytest.raises(
        DataError, match=r"0 MB, and hash tables would find too few pairs of core2.*; raise"
    ):
        files.near_duplicates(Rows(X), 0.6, "core2", working_memory=0.1)
    with pytest.raises(DataError, match=r"rows\.svm: holds no rows"):
        files.near_duplicates(Rows(X[:0]), 0.9)
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"parts: cannot be written"):
        files.near_duplicates(Rows(X), 0.9, parts=tmp_path / "file" / "parts", working_memory=1)
    with pytest.raises(FileError, match="can be read only once"):
        files.near_duplicates(files.open_reader("-", n_columns=3), 0.9)


def test_many_copies_make_no_search_of_their_own():
    """6,000 equal rows would make 18 million pairs before they were counted."""
    same = Rows(sparse.csr_array(np.tile([1.0, 2, 0, 3], (6000, 1))))
    with pytest.raises(DataError, match="more than 1,000 pairs"):
        files.near_duplicates(same, 0.9, most_pairs=1000)
    found = files.near_duplicates(same, 0.9, all_pairs=False)
    assert found.copies == len(found.pairs) == 5999
    assert (found.similarities == 1).all()


MEASURE = """
import numpy as np
from scipy import sparse
from corekernels import files, io

def write(name, n_rows):
    rng = np.random.default_rng(0)
    with io.RowWriter(name) as writer:
        for _ in range(0, n_rows, 10_000):
            columns = np.sort(rng.integers(0, 2**31 - 1, (10_000, 16)), axis=1)
            columns[::100] = columns[1::100]
            values, ends = rng.random(160_000), np.arange(0, 160_001, 16)
            shape = 10_000, 2**31 - 1
            writer.write(sparse.csr_array((values, columns.ravel(), ends), shape=shape))

peaks = []
for n_rows in (20_000, 100_000, 400_000):  # the first round loads libraries and compiles
    write("rows.npz", n_rows)
    reset()
    source = io.open_rows("rows.npz", batch_bytes=1 << 20)
    found = files.near_duplicates(source, 0.5, working_memory=1, n_jobs=1)
    peaks.append(peak())
print((peaks[2] - peaks[1]) / 300_000, len(found.pairs))
"""


@pytest.mark.slow
@peaks.needs_linux
def test_memory_grows_by_less_than_24_bytes_per_row(tmp_path):
    """Rows take 192 bytes each, 77 MB in all; their keys on the disk 536."""
    growth, n_pairs = peaks.output_of(MEASURE, tmp_path).split()
    assert float(growth) < 24
    # values differ: pairs of equal columns, of which some are not near enough
    assert 1000 < int(n_pairs) <= 4000
