"""A folder of text files, each of which is a document."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._core.types import PathLike
from ..errors import DataError, FileError
from ..io.streams import ByteStream
from .file import Chosen, Copied, DocumentFile, Table, missing_column, pyarrow

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

    def tables(
        self, columns: Sequence[str], batch_bytes: int, from_row: int = 0
    ) -> Iterator[Table]:
        """Columns of all documents, in batches."""
        for name in columns:
            if name not in _COLUMNS:
                raise missing_column(self.name, name, _COLUMNS, "a folder of text files ")
        arrow = pyarrow()
        first_row = min(max(0, from_row), len(self._paths))
        bytes_done = n_bytes = 0
        texts: list[str] = []
        for row, path in enumerate(self._paths[first_row:], first_row + 1):
            text = self._text(path)
            n_bytes += len(text)
            bytes_done += (self._root / path).stat().st_size
            texts.append(text)
            if n_bytes >= batch_bytes or row == len(self._paths):
                arrays = {
                    "text": arrow.array(texts, arrow.large_string()),
                    "path": arrow.array(self._paths[first_row:row], arrow.large_string()),
                }
                yield Table(self.name, arrays, first_row, len(texts), bytes_done)
                first_row, n_bytes, texts = row, 0, []

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

    def _text(self, path: str) -> str:
        with ByteStream(self._root / path) as stream:
            content = b"".join(iter(lambda: stream.read(1 << 20), b""))
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self._root / path}: is not valid UTF-8 (byte {error.start}: "
                f"0x{content[error.start]:02x}); convert it to UTF-8, or move it elsewhere."
            ) from None


def _files(root: Path) -> Iterator[str]:
    """Paths of all files below, relative to the root."""
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(folder, name), root)
