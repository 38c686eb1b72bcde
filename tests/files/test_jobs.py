"""Files of any size give what matrices in memory give, and equal bytes for equal inputs."""

import os
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels import files, io
from corekernels.errors import DataError, FileError, ParameterError, RecipeMismatch
from corekernels.files.hashing import PART_BYTES
from corekernels.files.kernels import file_kind
from corekernels.files.readers import SignatureReader, in_order, part_name, recipe_for
from corekernels.files.surveys import sample
from corekernels.io import svmlight_text
from corekernels.io.job_folder import unfinished_folder
from support import peaks
from support.readers import Rows

KERNELS = ["core1", "core2", "resemblance"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, (101, 40)) * rng.random((101, 40)))
    return X, rng.integers(0, 3, 101)


def recipe_of(source, **options):
    return recipe_for(source, **{"n_hashes": 32, "seed": 5, **options})


def folder_bytes(path):
    if path.is_dir():
        return {name: (path / name).read_bytes() for name in sorted(os.listdir(path))}
    return path.read_bytes()


def hidden(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [1, 7, 200])
@pytest.mark.parametrize("shard_rows", [None, 10, 101, 1000])
def test_files_hold_what_the_hasher_gives(tmp_path, rows, kernel, size, shard_rows):
    X, y = rows
    source = Rows(X, y, size)
    recipe = recipe_of(source, kernel=kernel)
    report = files.hash_to_file(source, tmp_path / "out", recipe, shard_rows=shard_rows)
    assert report.rows == 101
    S, labels = files.load_signatures(tmp_path / "out")
    expected = ck.CoREHasher(kernel, 32, random_state=5).fit(X).sketch(X)
    assert S.recipe == expected.recipe
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(getattr(S, name), array)
    np.testing.assert_array_equal(labels, y)
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("size", [3, 50])
def test_a_file_put_together_from_parts_has_the_bytes_of_one_saved_whole(tmp_path, rows, size):
    X, y = rows
    source = Rows(X, y, size)
    recipe = recipe_of(source, kernel="core2")
    files.hash_to_file(source, tmp_path / "out", recipe, part_bytes=1000)
    S = ck.CoREHasher("core2", 32, random_state=5).fit(X).sketch(X)
    S.save(tmp_path / "whole", labels=y, provenance=[io.Origin("rows.svm", 0, 101)])
    assert folder_bytes(tmp_path / "out") == folder_bytes(tmp_path / "whole")


@pytest.mark.parametrize("shard_rows", [None, 10])
@pytest.mark.parametrize("fail_at", [0, 14, 50, 98])
@pytest.mark.parametrize("resume", [False, True])
def test_an_interrupted_run_resumes_to_the_same_bytes(tmp_path, rows, shard_rows, fail_at, resume):
    X, y = rows
    options = {"shard_rows": shard_rows, "part_bytes": 1000}
    recipe = recipe_of(Rows(X))
    files.hash_to_file(Rows(X, y), tmp_path / "whole", recipe, **options)
    with pytest.raises(KeyboardInterrupt):
        files.hash_to_file(Rows(X, y, fail_at=fail_at), tmp_path / "out", recipe, **options)
    if shard_rows is None:
        assert not (tmp_path / "out").exists()
    elif fail_at >= 14:
        with pytest.raises(FileError, match="unfinished run"):
            files.load_signatures(tmp_path / "out")
    report = files.hash_to_file(
        Rows(X, y, size=3), tmp_path / "out", recipe, resume=resume, **options
    )
    assert report.rows == 101
    assert (report.rows_before > 0) == (resume and fail_at > 10)
    assert folder_bytes(tmp_path / "out") == folder_bytes(tmp_path / "whole")
    assert hidden(tmp_path) == []


def test_a_resumed_run_must_be_of_the_same_job(tmp_path, rows):
    X, y = rows
    recipe = recipe_of(Rows(X))
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        files.hash_to_file(Rows(X, y, fail_at=50), target, recipe, shard_rows=10)
    parts = unfinished_folder(target) / "parts"
    before = folder_bytes(parts)
    for other, options in [
        (replace(recipe, seed=6), {"shard_rows": 10}),
        (recipe, {"shard_rows": 11}),
    ]:
        with pytest.raises(FileError, match=r"the unfinished run had (seed 5|shard_rows 10)"):
            files.hash_to_file(Rows(X, y), target, other, resume=True, **options)
    options = {"shard_rows": 10, "resume": True}
    with pytest.raises(FileError, match="the unfinished run had other files"):
        files.hash_to_file(Rows(X, y, name="b"), target, recipe, **options)
    with pytest.raises(DataError, match="hash anew without resuming"):
        files.hash_to_file(Rows(X[:20], y[:20]), target, recipe, **options)
    assert folder_bytes(parts) == before
    assert files.hash_to_file(Rows(X, y), target, recipe, **options).rows_before == 50


def test_finished_shards_are_not_overwritten(tmp_path, rows):
    X, _ = rows
    recipe = recipe_of(Rows(X))
    files.hash_to_file(Rows(X), tmp_path / "out", recipe, shard_rows=10)
    before = folder_bytes(tmp_path / "out")
    with pytest.raises(FileError, match="holds shards already"):
        files.hash_to_file(Rows(X), tmp_path / "out", recipe, shard_rows=10)
    report = files.hash_to_file(Rows(X), tmp_path / "out", recipe, resume=True)
    assert (report.rows, report.rows_before, report.parts) == (101, 101, 11)
    with pytest.raises(RecipeMismatch):
        files.hash_to_file(
            Rows(X), tmp_path / "out", replace(recipe, seed=1), shard_rows=10, append=True
        )
    assert folder_bytes(tmp_path / "out") == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(FileError, match="holds other files"):
        files.hash_to_file(Rows(X), tmp_path / "other", recipe, shard_rows=10)


@pytest.mark.parametrize("shard_rows", [None, 10])
def test_append(tmp_path, rows, shard_rows):
    X, y = rows
    recipe = recipe_of(Rows(X))
    target = tmp_path / "out"
    options = {"shard_rows": shard_rows}
    files.hash_to_file(Rows(X[:33], y[:33]), target, recipe, **options)
    before = folder_bytes(target)
    if shard_rows:
        more = Rows(X[33:], y[33:], name="more", fail_at=30)
        with pytest.raises(KeyboardInterrupt):
            files.hash_to_file(more, target, recipe, append=True)
        assert len(files.load_signatures(target)[0]) == 33  # what stood there before
    more = Rows(X[33:], y[33:], name="more")
    files.hash_to_file(more, target, recipe, append=True, resume=bool(shard_rows))
    S, labels = files.load_signatures(target)
    np.testing.assert_array_equal(labels, y)
    expected = ck.CoREHasher("core1", 32, random_state=5).fit(X).sketch(X)
    np.testing.assert_array_equal(S.codes, expected.codes)
    assert folder_bytes(target) != before
    reader = SignatureReader(target)
    assert {origin.source for origin in reader.provenance} == {"rows.svm", "more"}


@pytest.mark.parametrize("n_moved", [0, 1, 3, 7])
@pytest.mark.parametrize("resume", [False, True])
def test_an_append_that_is_killed_while_it_hands_over(tmp_path, rows, monkeypatch, n_moved, resume):
    X, y = rows
    recipe = recipe_of(Rows(X))
    for name in ("out", "whole"):
        files.hash_to_file(Rows(X[:33], y[:33]), tmp_path / name, recipe, shard_rows=10)
    more = {"append": True, "resume": resume}
    files.hash_to_file(Rows(X[33:], y[33:], name="more"), tmp_path / "whole", recipe, **more)
    before = folder_bytes(tmp_path / "out")

    def killed(paths, target):
        for path in paths[::-1][:n_moved]:
            path.replace(target / path.name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("corekernels.files.hashing.move_shards", killed)
        patch.setattr("corekernels.io.job_folder.JobFolder.discard", lambda folder: None)
        with pytest.raises(KeyboardInterrupt):
            files.hash_to_file(Rows(X[33:], y[33:], name="more"), tmp_path / "out", recipe, **more)
    n_rows = len(files.load_signatures(tmp_path / "out")[0])
    assert n_rows == (101 if n_moved == 7 else 33)  # all or nothing
    files.hash_to_file(Rows(X[33:], y[33:], name="more"), tmp_path / "out", recipe, **more)
    assert folder_bytes(tmp_path / "out") == folder_bytes(tmp_path / "whole") != before
    assert hidden(tmp_path) == []


@pytest.mark.parametrize(
    "y",
    [
        np.array(["ham", "spam", "a longer word"] * 33 + ["x", "y"]),
        np.array(["ham", "spam", "b"] * 33 + ["x", "y"], dtype=object),
        np.arange(101) % 2 == 0,
        np.arange(101) % 3,
        (np.arange(101) % 3) / 2,
        (np.arange(101) % 3).astype(np.uint8),
        None,
    ],
)
def test_labels_travel(tmp_path, rows, y):
    X, _ = rows
    recipe = recipe_of(Rows(X))
    for shard_rows in (None, 10):
        target = tmp_path / f"out{shard_rows}"
        files.hash_to_file(Rows(X, y), target, recipe, shard_rows=shard_rows, part_bytes=1000)
        _, labels = files.load_signatures(target)
        if y is None:
            assert labels is None
        else:
            assert labels.tolist() == y.tolist()


def test_labels_that_no_file_can_hold(tmp_path, rows):
    X, _ = rows
    recipe = recipe_of(Rows(X))
    for y in (np.arange(101) * 1j, np.array([None, "a", 3] * 33 + [1, 2], dtype=object)):
        with pytest.raises(DataError, match="y: labels are"):
            files.hash_to_file(Rows(X, y), tmp_path / "out", recipe)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("stored", ["raw", "file", "shards"])
def test_learning_from_files_gives_the_predictions_of_memory(tmp_path, rows, kernel, stored):
    X, y = rows
    model = ck.CoREClassifier(kernel, 32, random_state=5, C=0.7, class_weight="balanced").fit(X, y)
    source = Rows(X, y)
    recipe = recipe_of(source, kernel=kernel)
    if stored != "raw":
        shard_rows = 9 if stored == "shards" else None
        files.hash_to_file(source, tmp_path / "rows", recipe, shard_rows=shard_rows)
        source = files.open_reader(tmp_path / "rows")
    learned = files.train(source, tmp_path / "model", recipe, C=0.7, class_weight="balanced")
    again = ck.CoREClassifier.load(tmp_path / "model")
    for other in (learned, again):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    files.predict(again, source, tmp_path / "labels")
    assert (tmp_path / "labels").read_text().split() == [str(c) for c in model.predict(X)]
    assert files.evaluate(again, source).accuracy == model.score(X, y)
    assert hidden(tmp_path) == []


def test_models_of_equal_rows_have_equal_bytes(tmp_path, rows):
    X, y = rows
    source = Rows(X, y)
    recipe = recipe_of(source)
    files.train(source, tmp_path / "a", recipe)
    files.hash_to_file(source, tmp_path / "rows", recipe, shard_rows=20)
    files.train(files.open_reader(tmp_path / "rows"), tmp_path / "b", recipe)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_text_is_scanned_only_for_what_is_not_known(tmp_path, rows, monkeypatch):
    """What hashing does not know takes one scan; a model knows it all."""
    X, y = rows
    path = tmp_path / "rows.svm"
    io.write_rows(path, X, y)
    scanned = []

    def scan_block(text, n_threads):
        scanned.append(len(text))
        return svmlight_text.scan_block(text, n_threads)

    monkeypatch.setattr("corekernels.io.svmlight.scan_block", scan_block)
    for known, n_bytes in (({}, path.stat().st_size), ({"n_columns": 40, "one_based": True}, 0)):
        scanned.clear()
        reader = files.open_reader(path, **known)
        files.hash_to_file(reader, tmp_path / "s", recipe_of(reader))
        assert sum(scanned) == n_bytes
    files.train(files.open_reader(tmp_path / "s"), tmp_path / "model", recipe_of(reader))
    model = ck.load_model(tmp_path / "model")  # which knows where columns count from
    scanned.clear()
    options = {"match_columns": 40, "like": model.provenance_}
    for source in (path, [path, path]):
        files.predict(model, files.open_reader(source, **options), tmp_path / "labels")
        files.evaluate(model, files.open_reader(source, **options))
    assert not scanned


def test_signatures_are_checked_once(tmp_path, rows, monkeypatch):
    """When a file of them is read, and not again in each block that learning or search takes."""
    X, y = rows
    recipe = recipe_of(Rows(X))
    files.hash_to_file(Rows(X, y), tmp_path / "s", recipe)
    checked = []

    def require_codes(recipe, codes):
        checked.append(len(codes))

    monkeypatch.setattr("corekernels.signatures.require_codes", require_codes)
    model = files.train(files.open_reader(tmp_path / "s"), tmp_path / "model", recipe)
    files.predict(model, files.open_reader(tmp_path / "s"), tmp_path / "labels")
    assert checked == [101, 101]


def test_options_must_not_contradict_the_signatures(tmp_path, rows):
    X, y = rows
    files.hash_to_file(Rows(X, y), tmp_path / "s", recipe_of(Rows(X), kernel="core2"))
    source = files.open_reader(tmp_path / "s")
    assert recipe_for(source, kernel="core2", seed=5).n_hashes == 32
    with pytest.raises(ParameterError, match="seed: got 4"):
        recipe_for(source, seed=4)
    with pytest.raises(DataError, match="hashed already"):
        files.hash_to_file(source, tmp_path / "t", source.recipe)


def test_a_missing_part_is_noticed(tmp_path, rows):
    X, _ = rows
    files.hash_to_file(Rows(X), tmp_path / "s", recipe_of(Rows(X)), shard_rows=20)
    (tmp_path / "s" / "part-00002.safetensors").unlink()
    with pytest.raises(FileError, match=r"part-00002.safetensors is missing"):
        files.load_signatures(tmp_path / "s")


def test_two_writers_of_one_target(tmp_path, rows):
    X, _ = rows
    recipe = recipe_of(Rows(X))

    class Nosy(Rows):
        def __iter__(self):
            for batch in super().__iter__():
                with pytest.raises(FileError, match="another process is writing it"):
                    files.hash_to_file(Rows(X), tmp_path / "out", recipe)
                yield batch

    files.hash_to_file(Nosy(X, size=60), tmp_path / "out", recipe)
    assert len(ck.Signatures.load(tmp_path / "out")) == 101


def test_evaluation_counts_labels_the_model_does_not_know(tmp_path, rows):
    X, y = rows
    model = ck.CoREClassifier(n_hashes=32, random_state=5).fit(X, y)
    found = files.evaluate(model, Rows(X, np.where(y == 2, 7, y)))
    assert found.classes.tolist() == [0, 1, 2, 7]
    assert np.isnan(found.recall[2])
    assert found.confusion.sum() == 101
    with pytest.raises(DataError, match="of another kind"):
        files.evaluate(model, Rows(X, np.array(["a"] * 101)))


def test_a_sample_is_uniform():
    X = sparse.csr_array(np.arange(1, 201.0)[:, None])
    counts = np.zeros(200)
    for seed in range(400):
        kept, y = sample(Rows(X, np.arange(200), 17), 20, seed=seed)
        np.testing.assert_array_equal(kept.toarray()[:, 0], y + 1)
        counts[y] += 1
    expected, deviation = 40, np.sqrt(400 * 0.1 * 0.9)
    assert counts.sum() == 400 * 20
    assert np.abs(counts - expected).max() < 5 * deviation


def test_hashing_takes_constant_memory(tmp_path):
    """Ten times the rows, the same peak."""
    X = sparse.random_array((50_000, 300), density=0.02, rng=np.random.default_rng(0), format="csr")
    peaks = []
    for n_rows in (5_000, 50_000):
        source = Rows(X[:n_rows], size=500)
        recipe = recipe_of(source, n_hashes=64)
        files.hash_to_file(Rows(X[:500]), tmp_path / "warm", recipe)
        tracemalloc.start()
        files.hash_to_file(source, tmp_path / "out", recipe, part_bytes=1 << 18, n_jobs=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] + (1 << 18)


def peak_memory(folder, n_rows, part_bytes):
    """Bytes a process needs to hash rows of 30 nonzeros with 256 hashes, mapped files included."""
    line = "1 " + " ".join(f"{column}:{column % 7 + 1}" for column in range(1, 300, 10)) + "\n"
    with open(folder / "rows.svm", "w") as file:
        for _ in range(n_rows // 1_000):
            file.write(line * 1_000)
    found = peaks.output_of(
        "from corekernels import Recipe, files\n"
        "reader = files.open_reader('rows.svm')\n"
        "recipe = Recipe(n_columns=reader.n_columns, n_hashes=256)\n"
        f"files.hash_to_file(reader, 'rows.sig', recipe, part_bytes={part_bytes})\n"
        "print(peak())",
        folder,
    )
    (folder / "rows.sig").unlink()
    return int(found)


@peaks.needs_linux
def test_the_memory_of_the_process_is_flat(tmp_path):
    """200,000 rows make 154 MB of signatures; once all buffers are in use the peak barely grows."""
    few = peak_memory(tmp_path, 200_000, 4 << 20)
    many = peak_memory(tmp_path, 400_000, 4 << 20)
    assert many - few < 50e6


@peaks.needs_linux
@pytest.mark.slow
def test_five_million_rows_in_less_than_a_gigabyte(tmp_path):
    assert peak_memory(tmp_path, 5_000_000, PART_BYTES) < 1e9


def test_more_than_a_hundred_thousand_shards_arein_order(tmp_path):
    numbers = [0, 1, 9_999, 10_000, 99_999, 100_000, 100_001, 1_000_000]
    for number in reversed(numbers):
        (tmp_path / part_name(number)).touch()
    assert [path.name for path in in_order(tmp_path)] == [part_name(n) for n in numbers]


def test_a_damaged_description_of_a_gram_matrix_is_none(tmp_path):
    np.save(tmp_path / "K.npy", np.eye(2))
    for text in (b"[" * 100_000, b"{", b'{"format": 3}', b"[]"):
        (tmp_path / "K.npy.json").write_bytes(text)
        assert file_kind(tmp_path / "K.npy") == "rows"
