"""A folder of text files, each of which is a document."""

import codecs
import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from .._core.arguments import PathLike
from ..errors import FileError
from ..io.streams import MAX_RECORD_BYTES, ByteStream
from .file import ArrowDocuments, DocumentFile, missing_column, numbered, pyarrow

FOLDER = "folder"
_COLUMNS = ("text", "path")
_SHOWN = 5  # of what is left out, in a note
_OTHER_FORMATS = (".parquet", ".pq", ".jsonl", ".ndjson")


class Folder(DocumentFile):
    """All files in a folder and the folders within, in the order of their paths.

    Columns are "text" and "path", which is relative to the folder. Names that begin with a dot
    are left out.
    """

    format = FOLDER
    starts_anywhere = True

    def __init__(self, path: PathLike) -> None:
        self.name = os.fspath(path)
        self._root = Path(path)
        self._paths, others = _files(self._root)
        if others:
            shown = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
            self.notes = [f"what is no file was left out: {shown}"]
        for found in self._paths:
            if Path(found).suffix in _OTHER_FORMATS:
                raise FileError(
                    f"{self.name}: holds {found}, which is not plain text; name such files by a "
                    f"pattern, as '{self.name}/*{Path(found).suffix}'."
                )
        self.n_rows = len(self._paths)
        self.n_bytes = sum((self._root / found).stat().st_size for found in self._paths)

    def documents(
        self, columns: Sequence[str] | None, batch_bytes: int, start: int = 0
    ) -> Iterator[ArrowDocuments]:
        """All documents, in batches; without their texts if no column is named."""
        for name in columns or ():
            if name not in _COLUMNS:
                raise missing_column(self.name, name, _COLUMNS, "a folder of text files ")
        first = min(max(0, start), len(self._paths))
        bytes_done = n_bytes = 0
        contents: list[bytes] = []
        for row, path in enumerate(self._paths[first:], first + 1):
            content = b"" if columns is None else self._content(path)
            n_bytes += len(content)
            bytes_done += (self._root / path).stat().st_size
            contents.append(content)
            if n_bytes >= batch_bytes or row == len(self._paths):
                yield self._together(first, contents, bytes_done)
                first, n_bytes, contents = row, 0, []

    def _together(self, first: int, contents: list[bytes], bytes_done: int) -> ArrowDocuments:
        """Documents of such contents; whether these are UTF-8 is found out later."""
        arrow = pyarrow()
        numbers, paths = numbered(first, len(contents)), self._paths[first : first + len(contents)]
        texts = arrow.array(contents, arrow.large_binary()).view(arrow.large_string())
        data = arrow.table({"text": texts, "path": arrow.array(paths, arrow.large_string())})
        return FolderDocuments(self.name, numbers, bytes_done, data)

    @contextlib.contextmanager
    def create(self, target: Path) -> Iterator[Path]:
        """An empty folder, which takes its name once all files are in it."""
        if target.exists():
            raise FileError(f"{target}: exists already; name a folder that does not.")
        part = target.with_name(f".{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)  # of a killed run
        try:
            part.mkdir()
            yield part
            part.rename(target)
        except OSError as error:
            raise FileError(f"{target}: cannot be written ({error.strerror or error}).") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _content(self, path: str) -> bytes:
        with ByteStream(self._root / path) as stream:
            content = stream.read(MAX_RECORD_BYTES + 1)
        if len(content) > MAX_RECORD_BYTES:
            raise FileError(
                f"{self._root / path}: is longer than {MAX_RECORD_BYTES:,} bytes; cut it, or take "
                "it out of the folder."
            )
        return content.removeprefix(codecs.BOM_UTF8)


class FolderDocuments(ArrowDocuments):
    """Files of a folder."""

    def write_to(self, out: Path) -> None:
        """Copy the files to another folder."""
        for path in self.data["path"].to_pylist():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(Path(self.name) / path, out / path)

    def where(self, place: int) -> str:
        """The name of the file."""
        return f"{Path(self.name) / self.data['path'][place].as_py()}:"


def _files(root: Path) -> tuple[list[str], list[str]]:
    """Paths of all files below, and of what is no file (pipes, devices), relative to the root."""
    files: list[str] = []
    others: list[str] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".")]
        for path in (os.path.join(folder, name) for name in names if not name.startswith(".")):
            (files if os.path.isfile(path) else others).append(os.path.relpath(path, root))
    return sorted(files), sorted(others)
