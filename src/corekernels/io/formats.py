"""What a file format of rows is, and the formats there are: reading and writing go by this list."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Protocol

from .._core.arguments import Array, PathLike, require_choice
from .._core.validation import Rows
from ..errors import DataError, FileError
from .containers import container_kind
from .provenance import SourceFile
from .readers import RowReader
from .streams import (
    HEAD_BYTES,
    MAX_RECORD_BYTES,
    ByteStream,
    display_name,
    is_stream,
    packing_of_name,
)

BATCH_BYTES = 8 << 20
LABEL = "label"  # the column of labels, unless another is named
SHOWN_NAMES = 8  # names of columns in a message


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; `open_rows` says what the options mean.

    Examples
    --------
    >>> from corekernels import io
    >>> io.ReadOptions(labels=False, batch_rows=100).batch_rows
    100
    """

    n_columns: int | None = None
    one_based: bool | None = None
    labels: bool = True
    n_jobs: int | None = None
    batch_bytes: int = BATCH_BYTES
    batch_rows: int | None = None
    column_names: Sequence[str] | None = None
    label: str | None = None
    missing: str = "error"
    max_record_bytes: int = MAX_RECORD_BYTES


class FileRows(RowReader):
    """Base of readers of one file, whose content must stay the same between readings.

    Examples
    --------
    >>> from corekernels import io
    >>> class Ones(io.FileRows):  # a row [1.0] for each line
    ...     format, n_columns = "ones", 1
    ...     def batches(self, first_row=0):
    ...         with self.open_file() as file:
    ...             yield io.Batch.of([[1.0] for _ in file])
    >>> with open("a.ones", "w") as file:
    ...     _ = file.write("x\\ny\\n")
    >>> [batch.X.toarray().tolist() for batch in Ones("a.ones", io.ReadOptions())]
    [[[1.0], [1.0]]]
    """

    def __init__(self, path: PathLike, options: ReadOptions) -> None:
        super().__init__(display_name(path))
        self._source = SourceFile(path)
        self._batch_bytes, self._batch_rows = options.batch_bytes, options.batch_rows
        self._max_record_bytes = options.max_record_bytes

    def _label_column(self, options: ReadOptions, names: Sequence[str]) -> str | None:
        """The column of labels, if it is there; an error if one was named that is not."""
        label = options.label or LABEL
        if options.labels and options.label is not None and label not in names:
            raise DataError(
                f"{self.name}: has no column {label!r} of labels; name one of: "
                f"{', '.join(names[:SHOWN_NAMES])}."
            )
        return label if label in names else None

    def _known_first(
        self, options: ReadOptions, names: Sequence[str], in_file: Sequence[str] = ()
    ) -> list[str]:
        """Names of columns, first those known before, which must be there.

        But for those of words ("colour=red"), if `in_file` has their column.
        """
        first = [] if options.column_names is None else list(options.column_names)
        for name in first:
            if name not in names and name.rpartition("=")[0] not in in_file:
                shown = ", ".join([*(in_file or names)][:SHOWN_NAMES])
                raise DataError(
                    f"{self.name}: has no column {name!r}, which was known before; give each "
                    f"column the name it had then. The file has: {shown}."
                )
        return list(dict.fromkeys([*first, *names]))

    def open_file(self) -> IO[bytes]:
        """The file, opened for reading; an error if it is no longer the one first opened."""
        return self._source.open()


class Writer(Protocol):
    """Writes clean rows to an open file, batch by batch."""

    def write(self, rows: Rows, y: Array | None) -> None:
        """Add rows."""

    def finish(self) -> None:
        """Write what stands at the end."""

    def close(self) -> None:
        """Release what is held, also after an error."""


@dataclass(frozen=True)
class Format:
    """A file format of rows; `io.add_format` makes it known.

    Attributes
    ----------
    name : str
        As for `format` of `io.open_rows`.
    suffixes : tuple of str
        Endings of the names of files to be written in it, and read in it if it has no `magic`.
    magic : tuple of bytes
        What its files may begin with; none for text.
    reader : callable
        Makes a `RowReader` of a path and `ReadOptions`.
    writer : callable or None
        Makes a `Writer` of an open file that will get a path, and that path.
    confirm : callable, optional
        Raises a `FileError` for a file that begins like one of this format and is none; it is
        given the path and the first bytes.
    is_text : bool
        Whether it may come compressed or through a pipe.
    names_columns : bool
        Whether columns have names, by which that of labels can be asked for.

    Examples
    --------
    >>> from corekernels import io
    >>> io.Format("ones", (".ones",), (), reader=io.FileRows).suffixes
    ('.ones',)
    """

    name: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...]
    reader: Callable[[PathLike, ReadOptions], RowReader]
    writer: Callable[[IO[bytes], Path], Writer] | None = None
    confirm: Callable[[PathLike, bytes], None] | None = None
    is_text: bool = False
    names_columns: bool = False


TEXT = "svmlight"  # the format of what comes through pipes, and of what says nothing else
BUILT_IN = {TEXT: "svmlight", "npz": "npz", "npy": "npy", "parquet": "parquet",
            "csv": "tables", "tsv": "tables"}  # modules, imported on use  # fmt: skip
_added: dict[str, Format] = {}


def add_format(format: Format) -> None:  # noqa: A002
    """Make a format known to all that reads or writes rows, in place of one of the same name.

    `docs/extending.md` has a format of rows as lists of JSON.

    Examples
    --------
    >>> from corekernels import io
    >>> io.add_format(io.Format("ones", (".ones",), (), reader=io.FileRows))
    """
    _added[format.name] = format


def format_names() -> tuple[str, ...]:
    """The names of all formats of rows."""
    return tuple({**BUILT_IN, **_added})


def all_formats() -> list[Format]:
    """All formats of rows."""
    return [format_named(name) for name in format_names()]


def format_named(name: str) -> Format:
    """The format of this name."""
    if name in _added:
        return _added[name]
    module = BUILT_IN[require_choice("format", name, format_names())]
    formats: dict[str, Format] = import_module(f".{module}", __package__).FORMATS
    return formats[name]


# kinds of safetensors files, by what they say they hold
CONTAINER_KINDS = {
    "signatures": "signatures",
    "classifier": "model",
    "regressor": "model",
    "index": "index",
    "frequencies": "frequencies",
}


def detect(path: PathLike) -> str:
    """The kind of a file: one of the row formats, "signatures", "model", "index" or "frequencies".

    The content decides: first bytes, unpacked if they are packed, and what a
    safetensors file says of itself; of text that is not packed, the name. A folder of
    `part-*.safetensors` is "signatures".

    Examples
    --------
    >>> from corekernels import io
    >>> io.write_rows("rows", [[0, 1.5], [2, 0]], format="svmlight")
    >>> io.detect("rows")
    'svmlight'
    """
    if is_stream(path):
        raise FileError(f"{path}: is a pipe, which can be read only once; name its format.")
    if os.path.isdir(path):
        if any(Path(path).glob("part-*.safetensors")):
            return "signatures"
        raise FileError(f"{path}: is a folder without part-*.safetensors; give a file.")
    with ByteStream(path) as stream:
        head = stream.read(HEAD_BYTES)
    packed = stream.packing is not None
    if not head:
        once = " once unpacked" if packed else ""
        raise FileError(f"{path}: is empty{once}; check how it was made.")
    if not packed and head[8:9] == b"{" and b"\0" in head[:8]:  # a length, then JSON
        kind = container_kind(path)
        if kind not in CONTAINER_KINDS:
            raise FileError(
                f"{path}: a safetensors file that holds no signatures, model, index or frequencies."
            )
        return CONTAINER_KINDS[kind]
    suffix = Path(path).suffix.lower()
    matching = (
        candidate
        for candidate in all_formats()
        if (head.startswith(candidate.magic) if candidate.magic else suffix in candidate.suffixes)
    )
    row_format = next(matching, format_named(TEXT))
    if packed and not row_format.is_text:
        raise FileError(f"{path}: only svmlight text is read packed; unpack it first.")
    if row_format.confirm is not None:
        row_format.confirm(path, head)
    return row_format.name


def format_of_name(path: PathLike) -> str | None:
    """The format that a file's name asks for, if it does."""
    name = Path(path)
    packed = packing_of_name(name) is not None
    suffix = (name.with_suffix("") if packed else name).suffix.lower()
    names = [candidate.name for candidate in all_formats() if suffix in candidate.suffixes]
    if packed:
        names = [kind for kind in names or [TEXT] if format_named(kind).is_text]
    return names[0] if names else None


def require_row_format(kind: str, path: PathLike) -> Format:
    """The format of rows of this name; refuses what holds no rows."""
    if kind in CONTAINER_KINDS.values():
        what = "an index" if kind == "index" else kind
        raise FileError(f"{path}: holds {what}, not rows; give the rows it was made from.")
    return format_named(kind)
