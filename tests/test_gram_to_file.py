import os
import subprocess
import sys
import time

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import FileError
from corekernels.io.atomic import part_paths

X = np.random.default_rng(0).poisson(0.3, (200, 50)).astype(np.float32)


@pytest.mark.parametrize("gamma", [None, 0.5])
def test_file_holds_the_gram_matrix(tmp_path, gamma):
    path = tmp_path / "K.npy"
    K = ck.gram_to_file(path, X, X[:30], "core2", gamma=gamma, working_memory=0.002)
    assert isinstance(K, np.memmap)
    assert not K.flags.writeable
    np.testing.assert_allclose(np.load(path), ck.core2(X, X[:30], gamma=gamma), atol=1e-6)
    assert os.listdir(tmp_path) == ["K.npy"]


def test_old_file_is_replaced_whole(tmp_path):
    path = tmp_path / "K.npy"
    ck.gram_to_file(path, X)
    ck.gram_to_file(path, X[:10])
    assert np.load(path).shape == (10, 10)


def test_bad_rows_leave_the_old_file(tmp_path):
    path = tmp_path / "K.npy"
    path.write_bytes(b"old")
    with pytest.raises(ck.CoREError):
        ck.gram_to_file(path, np.full((2, 2), np.nan))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["K.npy"]


@pytest.mark.parametrize("name", ["missing/K.npy", "."])
def test_unwritable_targets(tmp_path, name):
    with pytest.raises(FileError, match=r"cannot be written|is a folder"):
        ck.gram_to_file(tmp_path / name, X)


def test_no_room_is_seen_before_the_work(tmp_path, monkeypatch):
    class Usage:
        free = 1000

    monkeypatch.setattr("shutil.disk_usage", lambda folder: Usage)
    with pytest.raises(FileError, match=r"0\.00 GB are free; make room"):
        ck.gram_to_file(tmp_path / "K.npy", X)
    assert os.listdir(tmp_path) == []


def run_python(code, **kwargs):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, **kwargs
    )


def test_a_disk_that_fills_up_on_the_way(tmp_path):
    """The system's limit on file size fails a write just as a full disk does."""
    (tmp_path / "K.npy").write_bytes(b"old")
    result = run_python(
        "import resource, signal, numpy as np, corekernels as ck\n"
        "X = np.ones((300, 4), np.float32); ck.core1(X)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "ck.gram_to_file('K.npy', X, working_memory=0.01)",
        cwd=tmp_path,
    )
    assert "FileError: K.npy: cannot be written (File too large)" in result.stderr
    assert (tmp_path / "K.npy").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["K.npy"]


def test_a_killed_run_leaves_the_old_file_and_the_next_one_cleans_up(tmp_path):
    target = tmp_path / "K.npy"
    target.write_bytes(b"old")
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import numpy as np, corekernels as ck\n"
            "ck.gram_to_file('K.npy', np.ones((20_000, 4), np.float32), working_memory=0.1)",
        ],
        cwd=tmp_path,
    )
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size > 1_000_000 for path in part_paths(target)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(FileError, match="another process is writing it"):
        ck.gram_to_file(target, X)
    process.kill()
    process.wait()
    assert target.read_bytes() == b"old"
    assert len(part_paths(target)) == 1
    ck.gram_to_file(target, X)
    assert np.load(target).shape == (200, 200)
    assert os.listdir(tmp_path) == ["K.npy"]
