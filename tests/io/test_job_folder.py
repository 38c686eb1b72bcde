"""What a job keeps for the next run: whole parts of the same job, or an error."""

import contextlib
import os

import numpy as np
import pytest

from corekernels.errors import DataError, FileError
from corekernels.io.job_folder import (
    JobFolder,
    describe_unfinished,
    file_stamps,
    unfinished_folder,
)

JOB = {"job": "count", "seed": 1, "files": [["a", 3, 5]]}


class Killed(BaseException):
    """Ends a run as a kill does."""


def interrupted(path, *names, job=JOB):
    """Leave a folder with these parts."""
    with contextlib.suppress(Killed), JobFolder.open(path, job, resume=False) as folder:
        for number, name in enumerate(names):
            folder.save(name, {"number": number}, values=np.arange(number))
        raise Killed


def test_parts_wait_for_the_run_that_resumes(tmp_path):
    interrupted(tmp_path / "job", "b", "a")
    assert sorted(os.listdir(tmp_path / "job")) == ["job.json", "parts"]
    with JobFolder.open(tmp_path / "job", JOB, resume=True) as folder:
        assert folder.names() == ["a", "b"]
        arrays, about = folder.load("a")
        np.testing.assert_array_equal(arrays["values"], [0])
        assert about == {"number": 1}
        assert folder.load("c") is None
        folder.discard()
    assert not os.listdir(tmp_path)


def test_a_run_that_does_not_resume_begins_anew(tmp_path):
    interrupted(tmp_path / "job", "a")
    with JobFolder.open(tmp_path / "job", JOB | {"seed": 2}, resume=False) as folder:
        assert folder.names() == []


def test_another_job_is_refused(tmp_path):
    interrupted(tmp_path / "job", "a")
    for other, words in [
        ({"seed": 2}, "had seed 1; resume it with the same"),
        ({"job": "hash"}, "had job 'count'"),
        ({"files": [["a", 3, 6]]}, "had other files, or they changed"),
        ({"more": 1}, "had more None"),
    ]:
        with pytest.raises(FileError, match=words):  # noqa: SIM117
            with JobFolder.open(tmp_path / "job", JOB | other, resume=True):
                pass
    assert JobFolder(tmp_path / "job").names() == ["a"]


@pytest.mark.parametrize("error", [Killed, DataError])
def test_without_a_finished_part_nothing_stays(tmp_path, error):
    with pytest.raises(error), JobFolder.open(tmp_path / "job", JOB, resume=False):
        raise error
    assert not os.listdir(tmp_path)


def test_half_written_parts_are_removed(tmp_path):
    interrupted(tmp_path / "job", "a")
    left = tmp_path / "job" / "parts" / ".b.0123456789abcdef.part"
    left.write_bytes(b"half")
    with JobFolder.open(tmp_path / "job", JOB, resume=True) as folder:
        assert not left.exists()
        left.write_bytes(b"of a worker that was killed")
        folder.hand_over(tmp_path / "out")
    assert os.listdir(tmp_path) == ["out"]
    assert os.listdir(tmp_path / "out") == ["a"]


def test_a_second_run_is_refused_while_the_first_is_at_work(tmp_path):
    with (
        JobFolder.open(tmp_path / "job", JOB, resume=False) as folder,
        pytest.raises(FileError, match="another process is writing it"),
        JobFolder.open(tmp_path / "job", JOB, resume=False),
    ):
        pass
    folder.discard()


def test_folders_and_files_of_others_are_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").touch()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "thesis")
    for name, words in [
        ("thesis", "is not of an unfinished job"),
        ("file", "is no folder"),
        ("link", "is no folder"),
    ]:
        with pytest.raises(FileError, match=words):  # noqa: SIM117
            with JobFolder.open(tmp_path / name, JOB, resume=False):
                pass
    assert (tmp_path / "thesis" / "text").exists()


@pytest.mark.parametrize("text", [b"", b"[]", b"[" * 100_000, b'{"a": '])
def test_a_damaged_description_is_refused(tmp_path, text):
    interrupted(tmp_path / "job", "a")
    (tmp_path / "job" / "job.json").write_bytes(text)
    with pytest.raises(FileError, match=r"job\.json is damaged; begin anew"):  # noqa: SIM117
        with JobFolder.open(tmp_path / "job", JOB, resume=True):
            pass


def test_a_damaged_part_is_refused(tmp_path):
    interrupted(tmp_path / "job", "a")
    (tmp_path / "job" / "parts" / "a").write_bytes(b"half a")
    with pytest.raises(FileError, match="a: "):
        JobFolder(tmp_path / "job").load("a")


def test_what_an_unfinished_run_has_left(tmp_path):
    target = tmp_path / "out"
    assert describe_unfinished(target) is None
    interrupted(unfinished_folder(target), "a", "b")
    assert describe_unfinished(target) == "2 finished parts of `count`"
    assert len(os.fsencode(unfinished_folder(tmp_path / ("x" * 250)).name)) < 255


def test_stamps_tell_whether_files_changed(tmp_path):
    paths = [tmp_path / str(number) for number in range(200)]
    for path in paths:
        path.write_bytes(b"1")
    few, many = file_stamps(paths[:2]), file_stamps(paths)
    assert [stamp[:2] for stamp in few] == [["0", 1], ["1", 1]]
    assert file_stamps(["nowhere"]) == [["nowhere"]]
    os.utime(paths[0], ns=(1, 1))
    assert few != file_stamps(paths[:2])
    assert many != file_stamps(paths)
