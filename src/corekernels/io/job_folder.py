"""The folder in which a long job keeps its finished parts, for the next run if it is killed.

Beside the target `NAME` lies `.NAME.unfinished` while the job runs. In it, `job.json` says what
is made, with which options and from which files; `parts/` holds the finished parts, each written
whole or not at all. A run that resumes goes on with these parts, and refuses those of another job.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .._core.arguments import Array, PathLike
from ..errors import FileError
from .atomic import atomic_write, locked, naming_target, short_name
from .containers import load_arrays, parse_json, save_arrays

_JOB, _PARTS = "job.json", "parts"
_LEFTOVERS = ".*.part"  # of killed writers
_KIND, _VERSION = "part", 1
_MOST_FILES = 100_000  # listed one by one in job.json


def unfinished_folder(target: PathLike) -> Path:
    """The folder of a job with this target, `.NAME.unfinished` beside it."""
    path = Path(target).absolute()
    return path.with_name(f".{short_name(path)}.unfinished")


def file_stamps(paths: Iterable[PathLike]) -> list[Any] | str:
    """Names, sizes and times of change of files, for `job.json`; of many files, their digest."""
    stamps = [_stamp(path) for path in paths]
    if len(stamps) <= _MOST_FILES:
        return stamps
    return hashlib.sha256(json.dumps(stamps).encode()).hexdigest()


def _stamp(path: PathLike) -> list[Any]:
    name = os.path.basename(os.fspath(path))
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return [name]
    return [name, status.st_size, status.st_mtime_ns]


def _changed_files(before: Any, now: Any) -> frozenset[str] | None:
    """Names of the files whose stamps differ; None if they are not the same files."""
    if not (isinstance(before, list) and isinstance(now, list)):
        return None
    if [stamp[:1] for stamp in before] != [stamp[:1] for stamp in now]:
        return None
    pairs = zip(before, now, strict=True)
    return frozenset(new[0] for old, new in pairs if old != new)


class JobFolder:
    """The finished parts of a job. Tasks in other processes may have one of the same path.

    Attributes
    ----------
    path : Path
    parts : Path
        Where the finished parts lie.
    changed : frozenset of str
        Names of files that have changed since the unfinished run.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path).absolute()
        self.parts = self.path / _PARTS
        self.changed: frozenset[str] = frozenset()

    @classmethod
    @contextlib.contextmanager
    def open(
        cls, path: PathLike, job: dict[str, Any], *, resume: bool, redo_changed: bool = False
    ) -> Iterator["JobFolder"]:  # fmt: skip
        """The folder of a job, made if need be, closed to other runs until the block ends.

        After an error or a kill it stays with the parts that were finished; without any, an error
        removes it. `discard` or `hand_over` end it.

        Parameters
        ----------
        path : path
            `unfinished_folder` of the target, or a folder for this job alone.
        job : dict
            What the parts depend on, as JSON can hold it: "job" (its name), options, and "files"
            (from `file_stamps`).
        resume : bool
            Whether to keep the parts of an unfinished run, which must be of the same job. Without
            it, they are removed.
        redo_changed : bool
            Whether the job makes parts of files anew that have changed; else that is an error.
        """
        folder = cls(path)
        folder._require_own()
        with naming_target(folder.path):
            folder.path.mkdir(0o700, parents=True, exist_ok=True)
            folder.parts.mkdir(exist_ok=True)
            with locked(folder.path):
                folder._begin(json.loads(json.dumps(job)), resume, redo_changed)
                try:
                    yield folder
                except BaseException:
                    if not folder.names():
                        folder.discard()
                    raise

    def _require_own(self) -> None:
        """Refuse what is not the folder of a job."""
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_dir()):
            raise FileError(f"{self.path}: is no folder; remove it, the job keeps its parts there.")
        if self.path.is_dir():
            names = {name for name in os.listdir(self.path) if not name.startswith(".")}
            if names - {_JOB, _PARTS}:
                raise FileError(
                    f"{self.path}: is not of an unfinished job; name a new folder, or remove it."
                )

    def _begin(self, job: dict[str, Any], resume: bool, redo_changed: bool) -> None:
        before = self.job()
        if resume and before is not None:
            files = _changed_files(before.get("files"), job.get("files"))
            if redo_changed and files is not None:
                self.changed = files
                before["files"] = job["files"]
            self._require_same(before, job)
        else:
            self.remove("*")
        with atomic_write(self.path / _JOB) as file:
            file.write(json.dumps(job, indent=1).encode())
        self.remove(_LEFTOVERS)

    def job(self) -> dict[str, Any] | None:
        """What an unfinished run has noted, if there is one."""
        try:
            job = parse_json((self.path / _JOB).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise self.damaged(_JOB) from None
        if not isinstance(job, dict):
            raise self.damaged(_JOB)
        return job

    def _require_same(self, before: dict[str, Any], job: dict[str, Any]) -> None:
        different = [name for name in {**before, **job} if before.get(name) != job.get(name)]
        if different:
            described = ", ".join(
                "other files, or they changed"
                if name == "files"
                else f"{name} {before.get(name)!r}"
                for name in (["job"] if "job" in different else different)
            )
            raise FileError(
                f"{self.path}: the unfinished run had {described}; resume it with the same, or "
                "begin anew without resuming."
            )

    def file(self, name: str) -> Path:
        """Where a part lies, or is to be written with `atomic_write`."""
        return self.parts / name

    def names(self, pattern: str = "*") -> list[str]:
        """Names of the finished parts, sorted."""
        names = (path.name for path in self.parts.glob(pattern))
        return sorted(name for name in names if not name.startswith("."))

    def save(self, name: str, about: Any = None, **arrays: Array) -> None:
        """Write a part of arrays and a description that JSON can hold."""
        save_arrays(self.file(name), _KIND, _VERSION, arrays, about, durable=False, shared=True)

    def load(self, name: str, *, mmap: bool = False) -> tuple[dict[str, Array], Any] | None:
        """The arrays and the description of a part; None if it is not finished."""
        if not self.file(name).exists():
            return None
        return load_arrays(self.file(name), _KIND, _VERSION, mmap=mmap)

    def remove(self, pattern: str) -> None:
        """Remove the parts whose names match."""
        for path in self.parts.glob(pattern):
            path.unlink(missing_ok=True)

    def damaged(self, name: str) -> FileError:
        """The error for a part that this job cannot have written."""
        return FileError(f"{self.path}: {name} is damaged; begin anew without resuming.")

    def hand_over(self, target: PathLike) -> None:
        """Make the folder of parts the target, which is new, and end the job."""
        self.remove(_LEFTOVERS)
        with naming_target(target):
            self.parts.rename(target)
        self.discard()

    def discard(self) -> None:
        """End the job: remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)


def describe_unfinished(target: PathLike) -> str | None:
    """What an unfinished run with this target has left: "2 finished parts of `hash`"."""
    folder = JobFolder(unfinished_folder(target))
    if not folder.path.is_dir() or (job := folder.job()) is None:
        return None
    n_parts = len(folder.names())
    return f"{n_parts} finished part{'s' * (n_parts != 1)} of `{job.get('job')}`"
