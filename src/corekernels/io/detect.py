"""What a file is, told from its content."""

import os
import re
import zipfile
from pathlib import Path

from ..errors import FileError, ParameterError
from .containers import container_kind
from .streams import ByteStream, PathLike, is_stream, open_file, reading
from .svmlight_lines import content, require_text, shown

FORMATS = ("svmlight", "npz", "npy", "parquet")

_LOOK_BYTES = 1 << 16
_KINDS = {"signatures": "signatures", "classifier": "model", "index": "index"}
_SUFFIXES = {
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".txt": "svmlight",
    ".dat": "svmlight", ".npz": "npz", ".npy": "npy", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


def detect(path: PathLike) -> str:
    """The kind of a file: one of the row formats, "signatures", "model" or "index".

    The content decides: first bytes, unpacked if they are gz or bz2, and what a
    safetensors file says of itself. A folder of `part-*.safetensors` is "signatures".

    Examples
    --------
    >>> import os, tempfile
    >>> from corekernels import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows")
    ...     with open(path, "w") as file:
    ...         _ = file.write("+1 3:0.5 7:2 # a row\\n")
    ...     io.detect(path)
    'svmlight'
    """
    if is_stream(path):
        raise FileError(f"{path}: is a pipe, which can be read only once; name its format.")
    if os.path.isdir(path):
        if any(Path(path).glob("part-*.safetensors")):
            return "signatures"
        raise FileError(f"{path}: is a folder without part-*.safetensors; give a file.")
    with ByteStream(path) as stream:
        head = stream.read(_LOOK_BYTES)
    kind = _kind_of(path, head) if stream.packing is None else _kind_of_packed(path, head)
    return kind


def format_of_name(path: PathLike) -> str | None:
    """The format that a file's name asks for, if it does."""
    name = Path(path)
    if name.suffix in (".gz", ".bz2"):
        name = name.with_suffix("")
        found = _SUFFIXES.get(name.suffix.lower(), "svmlight")
        return found if found == "svmlight" else None
    return _SUFFIXES.get(name.suffix.lower())


def require_row_format(kind: str, path: PathLike) -> None:
    """Refuse what holds no rows."""
    if kind in _KINDS.values():
        what = "an index" if kind == "index" else kind
        raise FileError(f"{path}: holds {what}, not rows; give the rows it was made from.")
    if kind not in FORMATS:
        raise ParameterError(f"format: got {kind!r}; choose one of {', '.join(FORMATS)}.")


def _kind_of(path: PathLike, head: bytes) -> str:
    if not head:
        raise FileError(f"{path}: is empty; check how it was made.")
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        _require_npz(path)
        return "npz"
    if head[8:9] == b"{" and b"\0" in head[:8]:  # a length, then JSON
        kind = container_kind(path)
        if kind not in _KINDS:
            raise FileError(f"{path}: a safetensors file that holds no signatures, model or index.")
        return _KINDS[kind]
    _require_svmlight(path, head)
    return "svmlight"


def _kind_of_packed(path: PathLike, head: bytes) -> str:
    if not head:
        raise FileError(f"{path}: is empty once unpacked; check how it was made.")
    if head.startswith((b"\x93NUMPY", b"PAR1", b"PK\x03\x04")):
        raise FileError(f"{path}: only svmlight text is read packed; unpack it first.")
    _require_svmlight(path, head)
    return "svmlight"


def _require_npz(path: PathLike) -> None:
    with open_file(path) as file, reading(str(path), "zip"):
        names = zipfile.ZipFile(file).namelist()
    if not any(name.endswith(".npy") for name in names):
        raise FileError(f"{path}: a zip without arrays; give rows in .npz, .npy, Parquet or text.")


def _require_svmlight(path: PathLike, head: bytes) -> None:
    """Refuse what is plainly no svmlight text; finer faults are for its reader to name."""
    text = head
    if len(head) == _LOOK_BYTES:  # the last character may be cut
        text = re.sub(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z", b"", head)
    require_text(str(path), text, 1)
    complete = len(head) < _LOOK_BYTES or b"\n" in head
    for number, line in enumerate(head.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        tokens = content(line).split()
        if not tokens:
            continue
        strange = next((token for token in tokens[1:] if b":" not in token), None)
        if strange is not None and complete:
            raise FileError(
                f"{path}: line {number} has {shown(strange)} where column:value should stand; "
                "give rows as svmlight text, .npz, .npy or Parquet."
            )
        return
