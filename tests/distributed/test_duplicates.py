"""Near-duplicates found by parts are those of one machine, pairs and groups."""

import contextlib

import numpy as np
import pytest
from scipy import sparse

from corekernels import distributed, files, io
from corekernels._core.progress import Steps
from corekernels.distributed import duplicates
from corekernels.errors import DataError, FileError, ParameterError
from corekernels.io.workspace import Workspace
from corekernels.kernel_table import KERNELS
from corekernels.neighbors.duplicates.by_tables import find_in_file
from corekernels.neighbors.duplicates.tables import plan_tables
from support.command_line import as_json, run

THRESHOLD = 0.8


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Rows with copies, near copies, a large family, and empty ones, in one file and in four."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(300, 60)) * (rng.random((300, 60)) < 0.3)
    near = X[:80] * (rng.random((80, 60)) < 0.95)
    family = X[5] * (rng.random((60, 60)) < 0.97)
    every = np.vstack([X, near, X[:40], family, np.zeros((3, 60))]).astype(np.float32)
    every = sparse.csr_array(every[rng.permutation(len(every))])
    base = tmp_path_factory.mktemp("corpus")
    io.write_rows(base / "one.npz", every)
    (base / "parts").mkdir()
    for number, some in enumerate(np.array_split(np.arange(every.shape[0]), 4)):
        io.write_rows(base / "parts" / f"{number}.npz", every[some])
    return base


def one_machine(corpus, kernel="core1", all_pairs=True):
    """By hash tables, few as the rows are."""
    entry = KERNELS[kernel]
    reader = files.open_reader(corpus / "one.npz")
    tables = plan_tables(entry, THRESHOLD)
    with contextlib.closing(Workspace()) as work, Steps({}, False) as steps:
        return find_in_file(
            reader, THRESHOLD, entry, tables, all_pairs, 10**6, 1000.0, 0, work, steps, 1
        )


KERNELS_AND_PAIRS = [("core1", True), ("resemblance", False)]


@pytest.mark.parametrize(("kernel", "all_pairs"), KERNELS_AND_PAIRS)
def test_pairs_and_groups_are_those_of_one_machine(engine, corpus, tmp_path, kernel, all_pairs):
    if engine.name != "local" and not all_pairs:
        pytest.skip("one kernel is enough for a cluster")
    plan = distributed.plan_parts(engine, corpus / "parts")
    found = distributed.duplicates_by_parts(
        engine, plan, tmp_path / "scratch", THRESHOLD, kernel, all_pairs=all_pairs
    )
    expected = one_machine(corpus, kernel, all_pairs)
    assert len(expected.pairs) > 100
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    np.testing.assert_allclose(found.similarities, expected.similarities, rtol=1e-12)
    assert (found.rows, found.copies) == (expected.rows, expected.copies)
    groups, others = found.groups(), expected.groups()
    assert [group.tolist() for group in groups] == [group.tolist() for group in others]
    assert not (tmp_path / "scratch").exists()


def test_a_large_bucket_is_represented_by_its_first_rows(local, corpus, tmp_path):
    plan = distributed.plan_parts(local, corpus / "parts")
    found = distributed.duplicates_by_parts(
        local, plan, tmp_path / "scratch", THRESHOLD, largest_bucket=20
    )
    expected = one_machine(corpus)
    assert set(map(tuple, found.pairs.tolist())) <= set(map(tuple, expected.pairs.tolist()))
    assert found.redundant().tolist() == expected.redundant().tolist()
    records = np.zeros(100, duplicates.KEYS)
    records["row"] = np.arange(100)
    tables = plan_tables(KERNELS["core1"], THRESHOLD)
    for largest, n_pairs in ((100, 99 * 100 // 2), (99, sum(99 - place for place in range(16)))):
        job = duplicates.DuplicatesJob(
            str(tmp_path), KERNELS["core1"], THRESHOLD, tables, 0, 1, largest
        )
        assert len(np.load(duplicates.gather_candidates(job, records))) == n_pairs


def test_candidates_do_not_depend_on_the_order_of_records(local, corpus, tmp_path):
    plan = distributed.plan_parts(local, corpus / "parts")
    tables = plan_tables(KERNELS["core1"], THRESHOLD)
    job = duplicates.DuplicatesJob(str(tmp_path), KERNELS["core1"], THRESHOLD, tables, 0, 1, 9)
    duplicates.digest_part(job, plan.parts[0])
    (records,) = duplicates.keys_part(job, (0, np.empty(0, np.int64))).values()
    path = duplicates.gather_candidates(job, records)
    before = np.load(path)
    duplicates.gather_candidates(job, np.random.default_rng(1).permutation(records))
    np.testing.assert_array_equal(np.load(path), before)


def test_what_is_refused(local, corpus, folders, tmp_path):
    plan = distributed.plan_parts(local, corpus / "parts")
    scratch = tmp_path / "scratch"
    with pytest.raises(ParameterError, match="not found by hash tables"):
        distributed.duplicates_by_parts(local, plan, scratch, 0.1)
    with pytest.raises(ParameterError, match="not found by hash tables"):
        distributed.duplicates_by_parts(local, plan, scratch, 0.8, "containment")
    with pytest.raises(DataError, match="more than 3 pairs"):
        distributed.duplicates_by_parts(local, plan, scratch, most_pairs=3)
    scratch.mkdir()
    with pytest.raises(FileError, match="is there already"):
        distributed.duplicates_by_parts(local, plan, scratch)


def test_the_command(corpus, tmp_path):
    found = as_json(
        f"dedup {corpus}/parts {tmp_path}/pairs --groups {tmp_path}/groups --engine local"
    )
    expected = as_json(f"dedup {corpus}/one.npz {tmp_path}/pairs1 --groups {tmp_path}/groups1")
    assert (found["rows"], found["copies"]) == (expected["rows"], expected["copies"])
    assert (tmp_path / "groups").read_bytes() == (tmp_path / "groups1").read_bytes()
    refused = run(f"dedup {corpus}/parts {tmp_path}/pairs --keep kept.npz --engine local")
    assert "--keep" in refused.stderr
