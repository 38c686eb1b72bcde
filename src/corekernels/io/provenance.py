"""Files opened and checked, and where their rows came from: kept in all that is made of them."""

import contextlib
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any, NamedTuple

import numpy as np

from .._core.arguments import Array, PathLike
from ..errors import CoREError, DataError, FileError


@contextlib.contextmanager
def checking(
    path: PathLike, remedy: str, problem: str = "damaged or unknown",
    passes: type[CoREError] = FileError,
) -> Iterator[None]:  # fmt: skip
    """Turn whatever goes wrong with the parts of a file into a `FileError`.

    Errors that are of the type `passes` stay as they are.
    """
    try:
        yield
    except passes:
        raise
    except Exception as error:  # fields may be anything, and fail in any way
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        reason = "it is cut short" if isinstance(error, EOFError) else reason.rstrip(".")
        raise FileError(f"{path}: {problem} ({reason}); {remedy}.") from error


def require_fit(fits: bool, problem: str) -> None:
    """Raise a ValueError, which `checking` turns into an error that names the file."""
    if not fits:
        raise ValueError(problem)


def require_like(name: str, array: Array, expected: Array) -> None:
    """Raise a ValueError unless an array has the type and shape expected."""
    fits = array.dtype == expected.dtype and array.shape == expected.shape
    require_fit(fits, f"{name} are of another type or shape")


def whole_number(value: Any, low: int, high: int, what: str) -> int:
    """An integer from `low` to `high`."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    require_fit(is_whole and low <= value <= high, f"{what} is no integer from {low} to {high}")
    return int(value)


def column_names(names: Any, n_columns: int) -> Array | None:
    """Names of all columns, or None if there are none."""
    if names is None:
        return None
    fits = isinstance(names, list) and len(names) == n_columns
    fits = fits and all(isinstance(name, str) for name in names)
    require_fit(fits, "names of columns do not fit the columns")
    return np.array(names, dtype=object)


class Identity(NamedTuple):
    """What tells one content of a file from another that has taken its name."""

    device: int
    inode: int
    n_bytes: int
    modified: int  # nanoseconds

    @classmethod
    def of(cls, file: IO[bytes]) -> "Identity":
        """The identity of an open file."""
        status = os.fstat(file.fileno())
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def open_file(path: PathLike) -> IO[bytes]:
    """A file opened for reading, or a `FileError` that says why not."""
    try:
        if os.path.isdir(path):
            raise FileError(f"{path}: is a folder; give the name of a file.")
        return open(path, "rb")
    except FileNotFoundError:
        raise FileError(f"{path}: does not exist; check the name.") from None
    except PermissionError as error:
        raise FileError(f"{path}: may not be read; ask for the permission.") from error
    except (OSError, ValueError) as error:
        if isinstance(error, CoREError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be opened ({reason}); check the name.") from error


def matching_files(name: str, is_wanted: Callable[[str], bool]) -> list[str] | None:
    """The files that a name with `*`, `?` or `[` matches, in order; None if it is no pattern."""
    if not any(sign in name for sign in "*?[") or os.path.exists(name):
        return None
    names = sorted(filter(is_wanted, glob.glob(name, recursive=True)))
    if not names:
        raise FileError(f"{name}: no file matches; check the pattern.")
    return names


class SourceFile:
    """A file that is opened more than once: its content must stay the one first seen."""

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self._identity: Identity | None = None

    def open(self) -> IO[bytes]:
        """The file, opened for reading; a `FileError` if it is no longer the one first seen."""
        file = open_file(self.path)
        identity = Identity.of(file)
        self._identity = self._identity or identity
        if identity != self._identity:
            file.close()
            raise FileError(f"{self.path}: changed while it was read; begin again.")
        return file


def reading(name: str, kind: str) -> contextlib.AbstractContextManager[None]:
    """Turn whatever a reader of untrusted bytes raises into a `FileError`."""
    return checking(name, "fetch or make it again", f"not a whole {kind} file", CoREError)


@dataclass(frozen=True)
class Origin:
    """A run of rows of one file.

    Attributes
    ----------
    source : str
        Name of the file, without the folders it lay in.
    first_row, rows : int
        Number of its first row that was taken, from 0, and how many were.
    one_based : bool or None
        Whether columns of svmlight text counted from 1; None for other formats.
    text : dict or None
        How text became rows (`text.TextSettings`), if it did.
    column_names : tuple of str or None
        What the columns are called, in order, if each was a column of a Parquet file.
    text_columns : tuple of str or None
        Where the text stood, if rows came from text.

    Examples
    --------
    >>> Origin("train.svm", 0, 1000, one_based=True).asdict()
    {'source': 'train.svm', 'first_row': 0, 'rows': 1000, 'one_based': True}
    """

    source: str
    first_row: int
    rows: int
    one_based: bool | None = None
    text: dict[str, Any] | None = field(default=None, hash=False)
    column_names: tuple[str, ...] | None = None
    text_columns: tuple[str, ...] | None = None

    def asdict(self) -> dict[str, Any]:
        """The fields, for a file."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if value is not None
        }


def provenance_entries(origins: Iterable[Origin]) -> list[dict[str, Any]]:
    """The origins as a file lists them; names of columns, which may be many, only once."""
    entries, written = [], None
    for origin in origins:
        is_known = written is not None and origin.column_names == written
        entries.append((replace(origin, column_names=None) if is_known else origin).asdict())
        written = written or origin.column_names
    return entries


def read_provenance(entries: Any) -> list[Origin]:
    """The origins that a file lists; entries that make no sense are left out."""
    origins = []
    for entry in entries if isinstance(entries, list) else []:
        try:
            name, base, text = entry["source"], entry.get("one_based"), entry.get("text")
            first_row = whole_number(entry["first_row"], 0, 2**63, "first_row")
            rows = whole_number(entry["rows"], 0, 2**63, "rows")
            fits = isinstance(name, str) and (base is None or isinstance(base, bool))
            require_fit(fits and (text is None or isinstance(text, dict)), "not an origin")
            lists = [entry.get("column_names"), entry.get("text_columns")]
            names, columns = (None if listed is None else _names(listed) for listed in lists)
            origins.append(Origin(name, first_row, rows, base, text, names, columns))
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return origins


def _names(listed: Any) -> tuple[str, ...]:
    """Different names that a file lists."""
    fits = isinstance(listed, list) and all(isinstance(name, str) for name in listed)
    require_fit(fits and len(set(listed)) == len(listed), "not names of columns")
    return tuple(listed)


def join_runs(origins: Iterable[Origin]) -> list[Origin]:
    """The same origins, consecutive runs of one file joined.

    >>> join_runs([Origin("a", 0, 5), Origin("a", 5, 2), Origin("b", 0, 1)])[0].rows
    7
    """
    joined: list[Origin] = []
    for origin in origins:
        last = joined[-1] if joined else None
        if (
            last is not None
            and (last.source, last.text) == (origin.source, origin.text)
            and origin.column_names in (None, last.column_names)
            and last.first_row + last.rows == origin.first_row
        ):
            joined[-1] = replace(last, rows=last.rows + origin.rows)
        else:
            joined.append(origin)
    return joined


def column_base(origins: Sequence[Origin]) -> bool | None:
    """Whether svmlight columns counted from 1, if all origins that say so agree."""
    bases = {origin.one_based for origin in origins if origin.one_based is not None}
    return bases.pop() if len(bases) == 1 else None


def text_of(origins: Sequence[Origin]) -> dict[str, Any] | None:
    """How text became these rows, if they came from text in one way."""
    ways = [origin.text for origin in origins]
    return ways[0] if ways and all(way == ways[0] for way in ways) else None


def text_columns_of(origins: Sequence[Origin]) -> tuple[str, ...] | None:
    """Where the text of these rows stood, if it stood in the same columns of all files."""
    columns = {origin.text_columns for origin in origins}
    return columns.pop() if len(columns) == 1 else None


def names_of(origins: Sequence[Origin]) -> tuple[str, ...] | None:
    """What the columns are called, if all origins that say so agree."""
    names = {origin.column_names for origin in origins if origin.column_names is not None}
    return names.pop() if len(names) == 1 else None


def require_same_names(
    name: str, origins: Sequence[Origin], like: Sequence[Origin], names: Sequence[str] | None = None
) -> None:
    """Refuse rows, of a file of that name, whose columns are called otherwise than those of `like`.

    `names` are what these are called, if not as `like` says.
    """
    ours, before = names_of(origins), names_of(like) if names is None else names
    if ours is None or before is None:
        return
    for place, (name_here, name_before) in enumerate(zip(ours, before, strict=False)):
        if name_here != name_before:
            raise DataError(
                f"{name}: its column {place} was {name_here!r}, that of those known before "
                f"{name_before!r}; read its rows again with the columns in that order."
            )


def require_same_columns(
    name: str, origins: Sequence[Origin], like: Sequence[Origin], names: Sequence[str] | None = None
) -> None:
    """The same for signatures, whose svmlight columns must also have counted from one number.

    Rows of text may count from either, as they are not hashed yet.
    """
    base, base_before = column_base(origins), column_base(like)
    if base is not None and base_before is not None and base != base_before:
        raise DataError(
            f"{name}: its columns counted from {int(base)}, those known before from "
            f"{int(base_before)}; hash its rows again with one_based={base_before}."
        )
    require_same_names(name, origins, like, names)
