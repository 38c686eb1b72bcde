"""What a job keeps for the next run: as it was at the last checkpoint, or refused."""

import numpy as np
import pytest

from corekernels.errors import DataError, FileError
from corekernels.io.workspace import Workspace

JOB = {"files": ["a"], "seed": 1}


class Killed(BaseException):
    """Ends a run without a checkpoint, as a kill does."""


def read_all(file):
    out = np.empty(file.size, np.uint8)
    file.read(0, out)
    return out.tobytes()


def run(folder, body, job=JOB, resume=True):
    """Run a job in a lasting workspace."""
    with Workspace.lasting(folder, job, resume) as work:
        body(work)


def opened(work):
    return work.open("rows", "rows", "room")


def test_files_without_names_leave_nothing(tmp_path):
    work = Workspace(tmp_path)
    file = work.open("rows", "rows", "room")
    assert file.append(np.arange(3, dtype=np.int16), np.ones(1, np.uint8)) == 0
    assert file.append(np.zeros(0)) == file.size == 7
    work.checkpoint(now=True)
    work.save("more", a=np.ones(2))
    assert work.load("more") is None
    assert not list(tmp_path.iterdir())
    assert read_all(file) == b"\0\0\1\0\2\0\1"
    work.close()


def test_a_killed_run_goes_on_from_the_last_checkpoint(tmp_path):
    folder = tmp_path / "parts"

    def killed(work):
        file = opened(work)
        file.append(np.frombuffer(b"kept", np.uint8))
        work.state["step"] = 2
        work.checkpoint()  # too soon
        work.checkpoint(now=True)
        work.save("found", pairs=np.arange(4))
        file.append(np.frombuffer(b"lost", np.uint8))
        work.state["step"] = 3
        raise Killed

    with pytest.raises(Killed):
        run(folder, killed)
    with Workspace.lasting(folder, JOB, resume=True) as work:
        assert read_all(opened(work)) == b"kept"
        assert work.state == {"step": 2}
        np.testing.assert_array_equal(work.load("found")["pairs"], np.arange(4))
        assert work.load("other") is None
    with Workspace.lasting(folder, JOB, resume=False) as work:
        assert opened(work).size == 0
        assert work.state == {}
        assert work.load("found") is None


def test_an_interrupt_is_a_checkpoint_and_an_error_in_data_the_end(tmp_path):
    folder = tmp_path / "parts"

    def interrupted(work):
        opened(work).append(np.zeros(5))
        raise KeyboardInterrupt

    def wrong(work):
        assert opened(work).size == 40
        raise DataError("rows.jsonl: document 3 is not JSON")

    with pytest.raises(KeyboardInterrupt):
        run(folder, interrupted)
    with pytest.raises(DataError):
        run(folder, wrong)
    assert not folder.exists()


def test_only_the_same_job_goes_on_and_only_once(tmp_path):
    folder = tmp_path / "parts"

    def twice(work):
        opened(work).append(np.zeros(5))
        work.checkpoint(now=True)
        run(folder, opened)

    with pytest.raises(FileError, match="parts: another process is writing it"):
        run(folder, twice)
    with pytest.raises(FileError, match="had seed 1; resume it with the same, or begin anew"):
        run(folder, opened, JOB | {"seed": 2})
    (folder / "rows").write_bytes(b"")
    with pytest.raises(FileError, match="rows: is cut short; begin anew"):
        run(folder, opened)
    (folder / "found.npz").write_bytes(b"no zip")
    with pytest.raises(FileError, match=r"found\.npz is damaged; begin anew"):
        run(folder, lambda work: work.load("found"))
    for name, content in (("state.json", '{"sizes": 3}'), ("job.json", "[")):
        (folder / name).write_text(content)
        with pytest.raises(FileError, match=f"{name} is damaged; begin anew"):
            run(folder, opened)


def test_folders_of_others_are_not_cleared_and_work_may_outlive_errors(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("keep me")
    with pytest.raises(FileError, match="is not of an unfinished job"):
        run(other, opened, resume=False)
    assert (other / "mine.txt").exists()
    for keep in (False, True):
        folder = tmp_path / str(keep)
        with pytest.raises(DataError), Workspace.lasting(folder, JOB, False, keep=keep):
            raise DataError("bad")
        assert folder.exists() == keep
