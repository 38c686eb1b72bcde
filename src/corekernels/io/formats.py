"""The file formats of rows: one list, which reading, writing and detection go by."""

import os
from pathlib import Path

from .._core.arguments import PathLike, require_choice
from ..errors import FileError
from . import npy, npz, parquet, svmlight
from .containers import container_kind
from .format import Format
from .packing import packing_of_name
from .streams import HEAD_BYTES, ByteStream, is_stream

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT for module in (svmlight, npz, npy, parquet)
}
TEXT = svmlight.FORMAT  # what comes through pipes, and what has no magic bytes


def format_named(name: str) -> Format:
    """The format of this name."""
    return FORMATS[require_choice("format", name, tuple(FORMATS))]


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
    safetensors file says of itself. A folder of `part-*.safetensors` is "signatures".

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
        return _kind_of_container(path)
    found = next((known for known in FORMATS.values() if head.startswith(known.magic)), TEXT)
    if packed and not found.is_text:
        raise FileError(f"{path}: only svmlight text is read packed; unpack it first.")
    if found.confirm is not None:
        found.confirm(path, head)
    return found.name


def format_of_name(path: PathLike) -> str | None:
    """The format that a file's name asks for, if it does."""
    name = Path(path)
    if packing_of_name(name) is not None:
        found = _by_suffix(name.with_suffix("").suffix, TEXT)
        return found.name if found is not None and found.is_text else None
    found = _by_suffix(name.suffix, None)
    return None if found is None else found.name


def require_row_format(kind: str, path: PathLike) -> Format:
    """The format of rows of this name; refuses what holds no rows."""
    if kind in CONTAINER_KINDS.values():
        what = "an index" if kind == "index" else kind
        raise FileError(f"{path}: holds {what}, not rows; give the rows it was made from.")
    return format_named(kind)


def _by_suffix(suffix: str, default: Format | None) -> Format | None:
    suffix = suffix.lower()
    return next((found for found in FORMATS.values() if suffix in found.suffixes), default)


def _kind_of_container(path: PathLike) -> str:
    kind = container_kind(path)
    if kind not in CONTAINER_KINDS:
        raise FileError(
            f"{path}: a safetensors file that holds no signatures, model, index or frequencies."
        )
    return CONTAINER_KINDS[kind]
