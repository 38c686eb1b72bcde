"""Shards hashed by parts are byte for byte those of one machine."""

import os
import shutil

import numpy as np
import pytest

import corekernels as ck
from corekernels import files, io
from corekernels.errors import DataError, FileError, RecipeMismatch
from corekernels.files.hashing import hash_part
from corekernels.files.readers import SignatureReader
from corekernels.io.job_folder import unfinished_folder
from support.command_line import as_json, run

SUFFIXES = ("parquet", "svm", "npz")


def shards(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def planned(engine, source, **options):
    plan = files.plan_parts(engine, source)
    return plan, ck.Recipe(n_columns=plan.n_columns, n_hashes=16, **options)


def hashed(engine, plan, target, recipe, shard_rows=1000, **options):
    return files.hash_to_file(plan, target, recipe, engine=engine, shard_rows=shard_rows, **options)


def test_one_file_gives_the_shards_of_one_machine(engine, folders, tmp_path):
    for suffix in SUFFIXES if engine.name == "local" else ("parquet", "svm"):
        source = folders / suffix / f"rows-0.{suffix}"
        plan, recipe = planned(engine, source)
        report = hashed(engine, plan, tmp_path / suffix, recipe, 30)
        assert (report.rows, report.rows_before, report.parts) == (100, 0, 4)
        one = tmp_path / f"{suffix}-one"
        files.hash_to_file(files.open_reader(source), one, recipe, shard_rows=30)
        assert shards(tmp_path / suffix) == shards(one)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_gives_the_signatures_of_each_of_its_files(local, folders, tmp_path, suffix):
    plan, recipe = planned(local, folders / suffix / f"*.{suffix}")
    assert (plan.n_rows, plan.n_columns, len(plan.parts)) == (340, 64, 4)
    hashed(local, plan, tmp_path / "parts", recipe)
    for number in range(4):
        reader = files.open_reader(folders / suffix / f"rows-{number}.{suffix}", n_columns=64)
        files.hash_to_file(reader, tmp_path / "one", recipe)
        found = (tmp_path / "parts" / f"part-{number:05d}.safetensors").read_bytes()
        assert found == (tmp_path / "one").read_bytes()


def test_what_was_hashed_by_parts_is_read_by_the_commands(local, folders, tmp_path, digits):
    plan, recipe = planned(local, folders / "npz")
    hashed(local, plan, tmp_path / "parts", recipe)
    _, y = files.load_signatures(tmp_path / "parts")
    np.testing.assert_array_equal(y, digits[1][:340])
    model = files.train(files.open_reader(tmp_path / "parts"), tmp_path / "model", recipe)
    assert model.linear_.n_rows_ == 340


def test_resuming_writes_only_what_is_missing(engine, folders, tmp_path):
    plan, recipe = planned(engine, folders / "parquet")
    target = tmp_path / "parts"
    hashed(engine, plan, target, recipe, 40)
    whole = shards(target)
    shutil.rmtree(target)
    parts = killed_after_a_part(engine, plan, target, recipe)
    for name, content in whole.items():
        if name not in ("part-00001.safetensors", "part-00005.safetensors"):
            (parts / name).write_bytes(content)
    (parts / "part-00003.safetensors").write_bytes(b"half a")
    (parts / ".part-00003.safetensors.0123456789abcdef.part").write_bytes(b"half")
    with pytest.raises(FileError, match="unfinished"):
        SignatureReader(target)
    kept = os.stat(parts / "part-00000.safetensors").st_ino
    report = hashed(engine, plan, target, recipe, 40, resume=True)
    assert shards(target) == whole
    assert os.stat(target / "part-00000.safetensors").st_ino == kept
    assert report.rows == 340
    assert 0 < report.rows_before < 340
    again = hashed(engine, plan, target, recipe, 40, resume=True)
    assert again.rows_before == 340
    with pytest.raises(RecipeMismatch):
        hashed(engine, plan, target, planned(engine, folders / "parquet", seed=5)[1], resume=True)


def killed_after_a_part(engine, plan, target, recipe):
    """The parts that a run leaves if its driver is killed once the first is there."""

    class Killed(BaseException):
        pass

    class Dying(type(engine)):
        def __init__(self):
            pass

        def results(self, task, shared, arguments):
            task(shared, arguments[0])
            raise Killed

    with pytest.raises(Killed):
        hashed(Dying(), plan, target, recipe, 40)
    return unfinished_folder(target) / "parts"


def test_a_bad_file_ends_the_job_and_the_rest_stays(engine, folders, tmp_path, digits):
    X, y = digits
    source = tmp_path / "rows"
    source.mkdir()
    for number in range(3):
        io.write_rows(source / f"{number}.svm", X[: 10 * number + 10], y[: 10 * number + 10])
    whole = (source / "1.svm").read_text()
    lines = whole.splitlines(keepends=True)
    plan, recipe = planned(engine, source)
    (source / "1.svm").write_text("".join([*lines[:7], "3 5:x\n", *lines[8:]]))
    with pytest.raises(DataError, match=r"1\.svm: line 8 "):
        hashed(engine, plan, tmp_path / "parts", recipe)
    with pytest.raises(FileError, match="unfinished"):
        SignatureReader(tmp_path / "parts")
    (source / "1.svm").write_text(whole)
    report = hashed(engine, plan, tmp_path / "parts", recipe, resume=True)
    assert report.rows == 60
    names = set(shards(tmp_path / "parts"))
    assert names == {f"part-{number:05d}.safetensors" for number in range(3)}


def test_a_second_try_leaves_one_file(local, folders, tmp_path):
    plan, recipe = planned(local, folders / "npz")
    target = tmp_path / "parts" / "first"
    target.parent.mkdir()
    (tmp_path / "parts" / ".first.0123456789abcdef.part").write_bytes(b"of another try")
    first = hash_part(recipe, (plan.parts[0], str(target)))
    before = target.read_bytes()
    assert hash_part(recipe, (plan.parts[0], str(target))) == first
    assert target.read_bytes() == before


def test_files_must_fit_together(local, folders, tmp_path, digits):
    X, y = digits
    io.write_rows(tmp_path / "a.npz", X[:5], y[:5])
    io.write_rows(tmp_path / "b.npz", X[:5], y[:5].astype(str))
    plan, recipe = planned(local, tmp_path / "*.npz")
    with pytest.raises(DataError, match=r"b\.npz: its labels are words, those of .*a\.npz are num"):
        hashed(local, plan, tmp_path / "parts", recipe)
    with pytest.raises(FileError, match="no file matches"):
        files.plan_parts(local, tmp_path / "*.svm")
    with pytest.raises(FileError, match="does not exist"):
        files.plan_parts(local, tmp_path / "nowhere")
    plan, recipe = planned(local, folders / "npz")
    hashed(local, plan, tmp_path / "hashed", recipe)
    plan = files.plan_parts(local, tmp_path / "hashed")
    with pytest.raises(DataError, match="is hashed already"):
        hashed(local, plan, tmp_path / "twice", recipe)


def test_columns_of_text_count_from_where_they_do_in_all_files(local, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2 7:1\n0 3:1\n")
    (tmp_path / "b.svm").write_text("0.5 0:2\n1 5:1\n")
    plan, _ = planned(local, tmp_path / "*.svm")
    assert plan.n_columns == 8
    readers = [part.open() for part in plan.parts]
    rows = [np.vstack([batch.X.toarray() for batch in reader]) for reader in readers]
    assert [np.flatnonzero(row).tolist() for row in rows[0]] == [[1, 7], [3]]
    assert next(iter(readers[0])).y.dtype == float  # as in the other file


def test_the_command(folders, tmp_path):
    out = tmp_path / "out"
    line = f"hash '{folders}/svm/*.svm' {out} --n-hashes 16 --engine local --shard-rows 50"
    assert as_json(line)["rows"] == 340
    assert as_json(f"info {out}")["rows"] == 340
    assert run(f"hash {folders}/svm {out} --append --engine local").exit_code == 2
    assert "name its --engine" in run(f"hash {folders}/svm {out} --workers 2").stderr
