"""Near-duplicates found by parts are those of one machine, pairs and groups."""

import functools
import itertools

import numpy as np
import pytest
from scipy import sparse

from corekernels import files, io
from corekernels.errors import DataError, FileError, ParameterError
from corekernels.files import dedup_parts as tasks
from corekernels.files.engines import LocalEngine
from corekernels.io.job_folder import JobFolder
from corekernels.neighbors.duplicates.search import Criterion

THRESHOLD = 0.8
TOO_LITTLE = 0.1  # megabytes of memory to search the corpus exactly


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


@functools.cache
def one_machine(corpus, kernel="core1", all_pairs=True):
    """By hash tables, few as the rows are."""
    reader = files.open_reader(corpus / "one.npz")
    return files.near_duplicates(
        reader, THRESHOLD, kernel, all_pairs=all_pairs, working_memory=TOO_LITTLE, progress=False
    )


CASES = [
    ("core1", True, 10**6),
    ("resemblance", False, 10**6),
    ("core1", True, 50),
    ("core1", False, 50),
]


@pytest.mark.parametrize(("kernel", "all_pairs", "driver_pairs"), CASES)
def test_pairs_and_groups_are_those_of_one_machine(
    engine, corpus, tmp_path, kernel, all_pairs, driver_pairs
):
    if engine.name != "local" and (not all_pairs or driver_pairs > 50):
        pytest.skip("one way is enough for a cluster")
    plan = files.plan_parts(engine, corpus / "parts")
    found = files.near_duplicates(
        plan, THRESHOLD, kernel, all_pairs=all_pairs, driver_pairs=driver_pairs, engine=engine,
        parts=tmp_path / "scratch",
    )  # fmt: skip
    expected = one_machine(corpus, kernel, all_pairs)
    assert len(expected.pairs) > 100
    assert isinstance(found.pairs, np.memmap) == (driver_pairs == 50)
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    np.testing.assert_allclose(found.similarities, expected.similarities, rtol=1e-12)
    assert (found.rows, found.copies) == (expected.rows, expected.copies)
    assert as_lists(found.groups()) == as_lists(expected.groups())
    np.testing.assert_array_equal(found.paired(), expected.paired())


def as_lists(groups):
    return [group.tolist() for group in groups]


@pytest.mark.parametrize("driver_pairs", [10**6, 20])
def test_matches_are_those_of_one_machine(engine, corpus, tmp_path, driver_pairs):
    if engine.name != "local" and driver_pairs < 50:
        pytest.skip("one way is enough for a cluster")
    names = sorted((corpus / "parts").iterdir())
    plan = files.plan_parts(engine, names[1:])
    against = files.plan_parts(engine, names[0])
    found = files.near_duplicates(
        plan, THRESHOLD, against=against, driver_pairs=driver_pairs, engine=engine,
        parts=tmp_path / "scratch",
    )  # fmt: skip
    every = np.vstack([b.X.toarray() for name in names[1:] for b in files.open_reader(name)])
    io.write_rows(tmp_path / "rest.npz", sparse.csr_array(every))
    reader, others = files.open_reader(tmp_path / "rest.npz"), files.open_reader(names[0])
    expected = files.near_duplicates(reader, THRESHOLD, against=others, working_memory=TOO_LITTLE)
    assert len(expected.pairs) > 50
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    np.testing.assert_allclose(found.similarities, expected.similarities, rtol=1e-12)
    assert (found.rows, found.rows_against) == (expected.rows, expected.rows_against)


def test_two_families_of_near_copies(local, tmp_path):
    """Every row of a family is like every other, in most tables; pairs are counted once each."""
    size, rng = 150, np.random.default_rng(3)
    families = [rng.uniform(1, 1.1, (size, 50)) for _ in range(2)]
    X = sparse.block_diag([sparse.csr_array(family) for family in families], format="csr")
    io.write_rows(tmp_path / "rows.npz", X)
    plan = files.plan_parts(local, tmp_path / "rows.npz", part_rows=100)
    expected = files.near_duplicates(files.open_reader(tmp_path / "rows.npz"), 0.9)
    found = files.near_duplicates(plan, 0.9, engine=local, parts=tmp_path / "a")
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    folder = JobFolder(tmp_path / "a")
    parts = [folder.load(name) for name in folder.names("candidates-*")]
    n_candidates = sum(len(arrays["numbers"]) for arrays, _ in parts)
    assert len(expected.pairs) == n_candidates == size * (size - 1)
    cut = files.near_duplicates(plan, 0.9, largest_bucket=50, engine=local, parts=tmp_path / "b")
    assert len(cut.pairs) < len(found.pairs) / 3
    assert as_lists(cut.groups()) == as_lists(expected.groups())
    assert len(cut.groups()) == 2


def test_a_large_bucket_is_represented_by_its_first_rows(local, corpus, tmp_path):
    plan = files.plan_parts(local, corpus / "parts")
    found = files.near_duplicates(
        plan, THRESHOLD, largest_bucket=20, engine=local, parts=tmp_path / "scratch"
    )
    expected = one_machine(corpus)
    assert set(map(tuple, found.pairs.tolist())) <= set(map(tuple, expected.pairs.tolist()))
    assert found.redundant().tolist() == expected.redundant().tolist()
    records = np.zeros(100, tasks.KEYS)
    records["row"] = np.arange(100)
    for largest, n_pairs in ((100, 99 * 100 // 2), (99, sum(99 - place for place in range(16)))):
        assert tasks.gather_keys(task_job(tmp_path, 100, largest), records)[1] == n_pairs


def task_job(folder, n_rows, largest_bucket):
    criterion = Criterion.of("core1", THRESHOLD)
    (folder / "parts").mkdir(exist_ok=True)
    return tasks.DedupJob(
        str(folder), criterion, 1, largest_bucket, 1e9, True, 10**6, firsts=np.array([0]),
        n_rows=n_rows,
    )  # fmt: skip


def test_candidates_do_not_depend_on_the_order_of_records(local, corpus, tmp_path):
    plan = files.plan_parts(local, corpus / "parts")
    job = task_job(tmp_path, 500, 9)
    tasks.store_part(job, plan.parts[0])
    tasks.hash_part(job, (0, np.empty(0, np.int64)))
    (records,) = tasks.keys_part(job, (0, 0, 64 * 2**64)).values()
    name, n_pairs = tasks.gather_keys(job, records)
    before = np.array(job.pairs(name).numbers)
    assert len(before) == n_pairs > 0
    shuffled = np.random.default_rng(1).permutation(records)
    assert tasks.gather_keys(job, shuffled) == (name, n_pairs)
    np.testing.assert_array_equal(job.pairs(name).numbers, before)


def test_ranges_of_tables_and_keys_are_all_keys(local, corpus, tmp_path):
    plan = files.plan_parts(local, corpus / "parts")
    job = task_job(tmp_path, 500, None)
    tasks.store_part(job, plan.parts[0])
    tasks.hash_part(job, (0, np.empty(0, np.int64)))
    (every,) = tasks.keys_part(job, (0, 0, 64 * 2**64)).values()
    cuts = [0, 2**63 + 12345, 2**64, 7 * 2**64 + 3, 40 * 2**64 - 1, 64 * 2**64]
    pieces = [tasks.keys_part(job, (0, *some))[0] for some in itertools.pairwise(cuts)]
    np.testing.assert_array_equal(np.sort(np.concatenate(pieces)), np.sort(every))


class Killed(BaseException):
    """Ends a run as a kill does."""


class KilledEngine(LocalEngine):
    """Stops before a task of some name, or in the middle of its arguments."""

    def __init__(self, task, n_done=0):
        super().__init__(workers=1)
        self._task, self._n_done = task, n_done

    def results(self, task, shared, arguments):
        called, _ = shared
        if called.__name__ != self._task:
            yield from super().results(task, shared, arguments)
            return
        yield from super().results(task, shared, arguments[: self._n_done])
        raise Killed


KILLS = [
    ("store_part", 2), ("digests_part", 0), ("hash_part", 1), ("keys_part", 0), ("pairs_part", 0),
    ("compare_part", 2), ("expand_pairs", 0),
]  # fmt: skip


def test_a_killed_run_goes_on(local, corpus, tmp_path):
    plan = files.plan_parts(local, corpus / "parts")
    expected = one_machine(corpus)
    scratch = tmp_path / "scratch"
    options = {"driver_pairs": 50, "resume": True}
    made = {}
    for kill in KILLS:
        with pytest.raises(Killed):
            files.near_duplicates(plan, engine=KilledEngine(*kill), parts=scratch, **options)
        for path in (scratch / "parts").iterdir():  # files of finished tasks are not written again
            if path.name.startswith(("rows-", "keys-", "candidates-", "found-")):
                stamp = path.stat().st_mtime_ns, path.stat().st_ino
                assert made.setdefault(path.name, stamp) == stamp
    assert sorted({name.split("-")[0] for name in made}) == ["candidates", "found", "keys", "rows"]
    found = files.near_duplicates(plan, **options, engine=local, parts=scratch)
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    assert as_lists(found.groups()) == as_lists(expected.groups())
    with pytest.raises(FileError, match="the unfinished run had seed 0"):
        files.near_duplicates(plan, seed=1, **options, engine=local, parts=scratch)


def test_a_damaged_part_is_mended_and_the_job_goes_on(local, corpus, tmp_path):
    parts, scratch = tmp_path / "parts", tmp_path / "scratch"
    parts.mkdir()
    for path in (corpus / "parts").iterdir():
        (parts / path.name).write_bytes(path.read_bytes())
    whole = (parts / "2.npz").read_bytes()
    plan = files.plan_parts(local, parts)
    (parts / "2.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises((DataError, FileError), match=r"2\.npz"):
        files.near_duplicates(plan, engine=local, parts=scratch)
    before = (scratch / "parts" / "rows-00000").stat()
    (parts / "2.npz").write_bytes(whole)
    expected = one_machine(corpus)
    found = files.near_duplicates(plan, resume=True, engine=local, parts=scratch)
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    assert (scratch / "parts" / "rows-00000").stat().st_ino == before.st_ino
    io.write_rows(parts / "2.npz", np.eye(60))  # then all that depends on all parts is done again
    plan = files.plan_parts(local, parts)
    again = files.near_duplicates(plan, resume=True, engine=local, parts=scratch)
    fresh = files.near_duplicates(plan, engine=local, parts=tmp_path / "fresh")
    np.testing.assert_array_equal(again.pairs, fresh.pairs)
    assert len(again.pairs) < len(found.pairs)
    assert (scratch / "parts" / "rows-00000").stat().st_ino == before.st_ino


def test_parts_that_change_sides_are_compared_anew(local, corpus, tmp_path):
    names = sorted((corpus / "parts").iterdir())
    for cut in (1, 2):
        against, plan = (files.plan_parts(local, some) for some in (names[:cut], names[cut:]))
        resumed = files.near_duplicates(
            plan, against=against, engine=local, parts=tmp_path / "a", resume=True
        )
        fresh = files.near_duplicates(plan, against=against, engine=local, parts=tmp_path / "b")
        np.testing.assert_array_equal(resumed.pairs, fresh.pairs)


def test_what_is_refused(local, corpus, folders, tmp_path):
    plan = files.plan_parts(local, corpus / "parts")
    scratch = tmp_path / "scratch"
    with pytest.raises(ParameterError, match="not found by hash tables"):
        files.near_duplicates(plan, 0.1, engine=local, parts=scratch)
    with pytest.raises(ParameterError, match="not found by hash tables"):
        files.near_duplicates(plan, 0.8, "containment", engine=local, parts=scratch)
    with pytest.raises(DataError, match="more than 3 pairs"):
        files.near_duplicates(plan, most_pairs=3, engine=local, parts=scratch)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("keep me")
    with pytest.raises(FileError, match="is not of an unfinished job"):
        files.near_duplicates(plan, engine=local, parts=other)
    narrow = files.plan_parts(local, folders / "npz")
    with pytest.raises(DataError, match=r"has 64 columns .* has 60 columns; give"):
        files.near_duplicates(plan, against=narrow, engine=local, parts=scratch)
