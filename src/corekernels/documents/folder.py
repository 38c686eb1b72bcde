"""A folder of text files, each of which is a document."""

import codecs
import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._core.arguments import PathLike
from ..errors import FileError
from ..io.streams import ByteStream
from .file import (
    ArrowDocuments,
    Chosen,
    Copied,
    DocumentFile,
    missing_column,
    numbered,
    pyarrow,
)

FOLDER = "folder"
_COLUMNS = ("text", "path")
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
        self._paths = sorted(_files(self._root))
        for found in self._paths:
            if Path(found).suffix in _OTHER_FORMATS:
                raise FileError(
                    f"{self.name}: holds {found}, which is not plain text; name such files by a "
                    f"pattern, as '{self.name}/*{Path(found).suffix}'."
                )
        self.n_rows = len(self._paths)
        self.n_bytes = sum((self._root / found).stat().st_size for found in self._paths)

    def documents(
        self, columns: Sequence[str], batch_bytes: int, start: int = 0
    ) -> Iterator[ArrowDocuments]:
        """All documents, in batches."""
        for name in columns:
            if name not in _COLUMNS:
                raise missing_column(self.name, name, _COLUMNS, "a folder of text files ")
        first = min(max(0, start), len(self._paths))
        bytes_done = n_bytes = 0
        contents: list[bytes] = []
        for row, path in enumerate(self._paths[first:], first + 1):
            content = self._content(path)
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

    def copy(self, chosen: Chosen, out: Any, batch_bytes: int) -> Iterator[Copied]:
        """Copy the chosen files."""
        n_written = bytes_done = 0
        for place, wanted in enumerate(chosen(0, len(self._paths)).tolist()):
            source, target = self._root / self._paths[place], Path(out) / self._paths[place]
            bytes_done += source.stat().st_size
            if wanted:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
                n_written += 1
            yield Copied(n_written, bytes_done)

    def _content(self, path: str) -> bytes:
        with ByteStream(self._root / path) as stream:
            content = b"".join(iter(lambda: stream.read(1 << 20), b""))
        return content.removeprefix(codecs.BOM_UTF8)


class FolderDocuments(ArrowDocuments):
    """Files of a folder."""

    def where(self, place: int) -> str:
        """The name of the file."""
        return f"{Path(self.name) / self.data['path'][place].as_py()}:"


def _files(root: Path) -> Iterator[str]:
    """Paths of all files below, relative to the root."""
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(folder, name), root)
