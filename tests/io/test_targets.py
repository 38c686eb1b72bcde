"""One rule for every target: a plain file or a new name, never what is read."""

import os
import stat

import numpy as np
import pytest

import corekernels as ck
from corekernels import io
from corekernels.errors import FileError
from corekernels.io.atomic import atomic_write, part_paths
from support.command_line import ok, run

JOBS = {
    "hash": "hash rows.svm {out} --n-hashes 16",
    "shards": "hash rows.svm {out} --n-hashes 16 --shard-rows 10",
    "convert": "convert rows.svm {out} --to npz",
    "kernel": "kernel rows.svm {out}",
    "train": "train rows.svm {out} --n-hashes 16",
    "predict": "predict model rows.svm {out}",
    "path": "path rows.svm --n-hashes 16 --Cs 1 --cv 2 --model {out}",
    "index": "index rows.svm {out}",
    "search": "search index rows.svm {out}",
    "dedup": "dedup rows.svm {out}",
    "groups": "dedup rows.svm pairs --groups {out}",
    "kept": "dedup rows.svm pairs --keep {out}",
}
FILES = [job for job in JOBS if job not in ("shards", "kept")]  # `kept` goes by the name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).random((40, 6))
    io.write_rows("rows.svm", X, np.arange(40) % 2)
    ck.CoREClassifier(n_hashes=16, random_state=0).fit(X, np.arange(40) % 2).save("model")
    ck.CoRENeighbors(n_neighbors=2).fit(X).save("index")
    return tmp_path


def refused(job, out, message):
    result = run(JOBS[job].format(out=out))
    assert result.exit_code != 0
    assert message in result.output.replace("\n", " ")


@pytest.mark.parametrize("job", JOBS)
def test_a_pipe_is_left_alone(folder, job):
    os.mkfifo("out.svm")
    refused(job, "out.svm", "is a file" if job == "shards" else "is a device or a pipe")
    assert (folder / "out.svm").is_fifo()
    (folder / "link.svm").symlink_to("out.svm")
    refused(job, "link.svm", "is a file" if job == "shards" else "is a device or a pipe")
    assert (folder / "out.svm").is_fifo()


@pytest.mark.parametrize("job", JOBS)
def test_what_is_read_is_left_alone(folder, job):
    (folder / "link.svm").symlink_to("rows.svm")
    os.link("rows.svm", "twin.svm")
    before = (folder / "rows.svm").read_bytes()
    for name in ("rows.svm", "./rows.svm", "link.svm", "twin.svm"):
        refused(job, name, "is a file" if job == "shards" else "is read or written already")
    assert (folder / "rows.svm").read_bytes() == before


def test_models_and_indexes_that_are_read_are_left_alone(folder):
    for job, name in (("predict", "model"), ("search", "index")):
        refused(job, name, "is read or written already")
    io.write_rows("K.npy.json", np.eye(3), format="svmlight")
    result = run("kernel K.npy.json K.npy")
    assert "K.npy.json: is read or written already" in result.output.replace("\n", " ")
    ok("hash rows.svm shards --n-hashes 16 --shard-rows 10")
    result = run("train shards shards/part-00001.safetensors")
    assert "is read or written already" in result.output.replace("\n", " ")
    result = run("path rows.svm --n-hashes 16 --plot rows.png --model rows.png")
    assert "is read or written already" in result.output.replace("\n", " ")


@pytest.mark.parametrize("job", FILES)
def test_links_are_followed_and_permissions_kept(folder, job):
    (folder / "elsewhere").mkdir()
    real = folder / "elsewhere" / "out"
    (folder / "link").symlink_to("elsewhere/out")
    ok(JOBS[job].format(out="link"))  # a link to a name that is still free
    assert (folder / "link").is_symlink()
    fresh = real.read_bytes()
    real.write_bytes(b"old")
    real.chmod(0o600)
    ok(JOBS[job].format(out="link"))
    assert (folder / "link").is_symlink()
    assert real.read_bytes() == fresh
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    extra = ["link.json"] if job == "kernel" else []
    assert os.listdir(folder / "elsewhere") == ["out"]
    assert [name for name in os.listdir(folder) if "link" in name and name != "link"] == extra


def test_bytes_gather_where_others_may_not_read_them(tmp_path):
    target = tmp_path / "out"
    target.write_bytes(b"old")
    target.chmod(0o600)
    with atomic_write(target):
        (part,) = part_paths(target)
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


def test_every_attempt_has_a_name_of_its_own(tmp_path):
    target, names = tmp_path / "out", set()
    for _ in range(3):
        with atomic_write(target):
            names.update(part_paths(target))
    assert len(names) == 3
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("length", [200, 201, 255])
def test_long_names(tmp_path, length):
    target = tmp_path / ("n" * length)
    with atomic_write(target) as file:
        assert len(part_paths(target)) == 1
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == [target.name]


def test_links_in_place_of_temporary_files_are_not_followed(folder):
    victim = folder / "victim"
    victim.write_bytes(b"dear")
    left = folder / f".out.{'0' * 16}.part"
    left.symlink_to(victim)
    (folder / ".out.unfinished").symlink_to(victim)
    ok("convert rows.svm out --to svmlight")
    assert not left.is_symlink()
    for job in ("hash", "train"):
        refused(job, "out", ".out.unfinished: is no folder; remove it")
    assert victim.read_bytes() == b"dear"


def test_links_that_lead_nowhere(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(FileError, match="leads back to itself"):
        io.write_rows(tmp_path / "a", [[1.0]], format="npz")
    (tmp_path / "far").symlink_to("missing/file")
    with pytest.raises(FileError, match="cannot be written"):
        io.write_rows(tmp_path / "far", [[1.0]], format="npz")


def test_a_second_writer_is_refused_and_spoils_nothing(tmp_path):
    pytest.importorskip("fcntl")
    target = tmp_path / "out"
    with atomic_write(target) as file:
        file.write(b"first")
        with pytest.raises(FileError, match="another process is writing it"), atomic_write(target):
            pass
    assert target.read_bytes() == b"first"


def test_a_writer_whose_file_was_taken_for_a_leftover(tmp_path, monkeypatch):
    """Another writer clears our part file between our opening and our locking it."""
    fcntl = pytest.importorskip("fcntl")
    target = tmp_path / "out"

    def lock(file, flags):
        for path in part_paths(target):
            path.unlink()

    monkeypatch.setattr(fcntl, "flock", lock)
    with pytest.raises(FileError, match="another process is writing it"), atomic_write(target):
        pass
    assert os.listdir(tmp_path) == []
