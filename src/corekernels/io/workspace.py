"""What a long job keeps on the disk while it runs, and for the next run if it is killed."""

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._core.arguments import Array, PathLike
from .._core.validation import Rows, are_clean, read_only
from ..errors import DataError, FileError, ParameterError
from .atomic import atomic_write, locked
from .containers import parse_json
from .provenance import Origin, whole_number
from .readers import Batch, RowReader, Selected

_JOB, _STATE = "job.json", "state.json"
_SECONDS = 15.0  # between two checkpoints


class Workspace:
    """Files of a job in one folder.

    Without a job they have no names and go with the process, however that ends. With one, the
    folder is made for it. After a kill it holds what there was at the last checkpoint, and a
    run of the same job goes on from there.

    Attributes
    ----------
    folder : Path
    state : dict
        What the job notes about itself; kept by checkpoints.
    """

    def __init__(self, folder: PathLike | None = None, seconds: float = _SECONDS) -> None:
        self.folder = Path(tempfile.gettempdir() if folder is None else folder)
        self.state: dict[str, Any] = {}
        self.is_lasting = False
        self._files: dict[str, WorkFile] = {}
        self._sizes: dict[str, int] = {}
        self._seconds, self._last = seconds, time.monotonic()

    @classmethod
    @contextlib.contextmanager
    def lasting(
        cls,
        folder: PathLike,
        job: dict[str, Any],
        resume: bool,
        seconds: float = _SECONDS,
        keep: bool = False,
    ) -> Iterator["Workspace"]:
        """A workspace in a folder of its own, in which a later run of the same job can go on.

        The folder is removed after errors in data or arguments, which would come again, unless
        `keep`; otherwise it stays until the caller removes it.

        Parameters
        ----------
        folder : path
        job : dict
            What the job depends on, as JSON can hold it.
        resume : bool
            Whether to go on with what is there, which must be of the same job.
        seconds : float
            Least time between two checkpoints.
        keep : bool
            Whether what is done stays of use after such errors.
        """
        work = cls(folder, seconds)
        work.is_lasting = True
        if not resume and work.folder.is_dir():
            _require_own(work.folder)
        with naming(work.folder, "files", "as much as the job needs"):
            if not resume and work.folder.exists():
                with locked(work.folder):
                    shutil.rmtree(work.folder)
            work.folder.mkdir(parents=True, exist_ok=True)
        with locked(work.folder), contextlib.closing(work):
            work._begin(job)
            try:
                yield work
            except (DataError, ParameterError):
                work.close()
                if not keep:
                    shutil.rmtree(work.folder, ignore_errors=True)
                raise
            except KeyboardInterrupt:
                work.checkpoint(now=True)
                raise

    def _begin(self, job: dict[str, Any]) -> None:
        before = self._read(_JOB)
        if before is None:
            self._write(_JOB, job)
            return
        names = [name for name in job if before.get(name) != job[name]]
        if names:
            differing = ", ".join(f"{name} {before.get(name)!r}" for name in names)
            raise FileError(
                f"{self.folder}: the unfinished run had {differing}; resume it with the same, or "
                "begin anew without resuming."
            )
        found = self._read(_STATE) or {"sizes": {}, "state": {}}
        try:
            sizes = found["sizes"].items()
            self._sizes = {name: whole_number(n, 0, 2**63, name) for name, n in sizes}
            self.state = dict(found["state"])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self.damaged(_STATE) from None

    def open(self, name: str, what: str, needs: str) -> "WorkFile":
        """A file for appending and reading, with what was there at the last checkpoint.

        Errors say that `what` cannot be kept, and what it `needs`.
        """
        size = self._sizes.get(name, 0) if self.is_lasting else 0
        path = self.folder / name if self.is_lasting else None
        self._files[name] = WorkFile(self.folder, path, size, what, needs)
        return self._files[name]

    def checkpoint(self, *, now: bool = False) -> None:
        """Let a later run go on from here; does nothing if the last one was not long ago."""
        if self.is_lasting and (now or time.monotonic() - self._last > self._seconds):
            for name, file in self._files.items():
                file.sync()
                self._sizes[name] = file.size
            self._write(_STATE, {"sizes": self._sizes, "state": self.state})
            self._last = time.monotonic()

    def save(self, name: str, **arrays: Array) -> None:
        """Keep arrays for a later run."""
        if self.is_lasting:
            with atomic_write(self.folder / f"{name}.npz") as file:
                np.savez(file, allow_pickle=False, **arrays)

    def load(self, name: str) -> dict[str, Array] | None:
        """Arrays that an earlier run saved, if it did."""
        path = self.folder / f"{name}.npz"
        if not self.is_lasting or not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as found:
                return {key: found[key] for key in found.files}
        except (OSError, ValueError, EOFError):
            raise self.damaged(path.name) from None

    def damaged(self, name: str) -> FileError:
        """The error for a file that cannot have been written by an earlier run."""
        return FileError(f"{self.folder}: {name} is damaged; begin anew without resuming.")

    def close(self) -> None:
        """Close the files; those without names are gone then."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(parse_json((self.folder / name).read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise self.damaged(name) from None

    def _write(self, name: str, content: dict[str, Any]) -> None:
        with atomic_write(self.folder / name) as file:
            file.write(json.dumps(content, indent=1).encode())


def _require_own(folder: Path) -> None:
    """Refuse to clear a folder that no job has made."""
    names = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    if names and _JOB not in names:
        raise FileError(f"{folder}: is not of an unfinished job; name a new folder, or remove it.")


class WorkFile:
    """Bytes of a job: appended piece by piece, read from any place.

    Attributes
    ----------
    size : int
        Bytes in it.
    """

    def __init__(self, folder: Path, path: Path | None, size: int, what: str, needs: str) -> None:
        self._folder, self._what, self._needs = folder, what, needs
        self.size = size
        self._file: IO[bytes]
        with self._naming():
            if path is None:
                self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
            else:
                if size and os.path.getsize(path) < size:
                    raise FileError(f"{path}: is cut short; begin anew without resuming.")
                self._file = open(path, "r+b" if size else "w+b", buffering=0)  # noqa: SIM115
                self._file.truncate(size)

    def append(self, *arrays: Array) -> int:
        """Write arrays behind one another; where the first begins."""
        place = end = self.size
        with self._naming():
            self._file.seek(place)
            for array in arrays:
                rest = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
                end += len(rest)
                while len(rest):
                    rest = rest[self._file.write(rest) :]
        self.size = end
        return place

    def read(self, place: int, out: Array) -> int:
        """Fill an array with the bytes at a place; the place behind them."""
        rest = out.reshape(-1).view(np.uint8).data
        with self._naming():
            self._file.seek(place)
            while len(rest):
                n = self._file.readinto(rest)  # type: ignore[attr-defined]
                if not n:
                    raise OSError("cut short")
                rest = rest[n:]
        return place + out.nbytes

    def sync(self) -> None:
        """Wait until all bytes are on the disk."""
        with self._naming():
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; without a name, it is gone."""
        with contextlib.suppress(OSError):  # what a full disk did not take is of no use now
            self._file.close()

    def _naming(self) -> AbstractContextManager[None]:
        return naming(self._folder, self._what, self._needs)


@contextlib.contextmanager
def naming(folder: PathLike, what: str, needs: str) -> Iterator[None]:
    """Turn errors of such a file into a `FileError` that names its folder and what it needs."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"{folder}: {what} cannot be kept there ({error.strerror or error}); make room, "
            f"{needs}, or choose another folder."
        ) from error


_MAGIC = 0x53574F5254504B  # a batch begins here


@dataclass(frozen=True)
class _Header:
    """What stands before the row lengths, columns and values of a batch, as 64-bit integers."""

    magic: int
    n_rows: int
    n_values: int
    index_bytes: int  # of a column number
    value_bytes: int
    only_ones: int  # whether values are not stored
    first_row: int
    bytes_done: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, this included."""
        per_value = self.index_bytes + (0 if self.only_ones else self.value_bytes)
        return _HEADER_BYTES + 4 * self.n_rows + per_value * self.n_values


_HEADER_BYTES = 8 * len(_Header.__dataclass_fields__)


class KeptRows(Selected):
    """The rows of another reader, without labels: read from it once, then from the disk.

    On the disk they take 4 bytes per row, 8 bytes per value that is not 0, and 4 or 8 more
    unless all values of a batch are 1. Memory is that of a batch. A reading that was broken off
    goes on with the same reader; one of a killed run, in a lasting workspace, with a new one.
    """

    def __init__(self, reader: RowReader, work: Workspace, name: str = "rows") -> None:
        super().__init__(reader)
        self._work = work
        self._complete = f"{name} complete"  # in the state of the workspace
        self._file = work.open(name, "rows", "12 bytes per n-gram of a document")
        self._places = list(self._find_batches(name))
        self._more: Iterator[Batch] | None = None

    @property
    def provenance(self) -> list[Origin]:
        """That of the reader."""
        return self._reader.provenance

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`."""
        number = 0
        while True:
            if number < len(self._places):
                batch = self._read(self._places[number])
            elif self._work.state.get(self._complete):
                return
            else:
                found = self._next()
                if found is None:
                    self._work.state[self._complete] = True
                    return
                batch = found
                self._write(batch)
            number += 1
            yield batch

    def _next(self) -> Batch | None:
        """The next batch of the reader."""
        n_kept = 0
        if self._places:
            last = self._header(self._places[-1])
            n_kept = last.first_row + last.n_rows
        if self._more is None:
            self._more = self._reader.batches_from(n_kept)
        batch = next(self._more, None)
        if batch is not None and batch.first_row != n_kept:
            raise DataError(f"{self.name}: changed while it was read; begin again.")
        return batch

    def _find_batches(self, name: str) -> Iterator[int]:
        """Where batches begin that an earlier run has kept."""
        place = 0
        while place < self._file.size:
            if not self._is_sound(place):
                raise self._work.damaged(name)
            yield place
            place += self._header(place).size

    def _is_sound(self, place: int) -> bool:
        """Whether a batch of an earlier run lies there, with rows as clean as it says."""
        header = self._header(place)
        fits = header.magic == _MAGIC and header.index_bytes in (4, 8)
        if not fits or place + header.size > self._file.size:
            return False
        try:
            return are_clean(self._read(place).rows)
        except (TypeError, ValueError):
            return False

    def _header(self, place: int) -> _Header:
        fields = np.empty(_HEADER_BYTES // 8, np.int64)
        self._file.read(place, fields)
        return _Header(*fields.tolist())

    def _write(self, batch: Batch) -> None:
        X = batch.rows.compact()
        only_ones = bool((X.data == 1).all())
        header = _Header(
            _MAGIC, len(batch), X.nnz, X.indices.itemsize, X.data.itemsize, only_ones,
            batch.first_row, batch.bytes_done,
        )  # fmt: skip
        arrays: list[Array] = [np.array(astuple(header), np.int64), X.lengths.astype(np.int32)]
        arrays += [X.indices] if only_ones else [X.indices, X.data]
        self._places.append(self._file.append(*arrays))

    def _read(self, place: int) -> Batch:
        header = self._header(place)
        lengths = np.empty(header.n_rows, np.int32)
        indices = np.empty(header.n_values, f"i{header.index_bytes}")
        data = np.ones(header.n_values, f"f{header.value_bytes}")
        place = self._file.read(place + _HEADER_BYTES, lengths)
        place = self._file.read(place, indices)
        if not header.only_ones:
            self._file.read(place, data)
        indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        rows = Rows(indptr, read_only(indices), read_only(data), self.n_columns)
        return Batch(rows, None, header.first_row, header.bytes_done)
