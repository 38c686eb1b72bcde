"""The header of a safetensors file, read without being trusted.

A file is the length of the header (8 bytes), the header (JSON) and the bytes of the arrays, one
after the other in the order of their offsets, without gaps and to the end of the file.
"""

import json
import math
import os
from typing import IO, Any, NamedTuple

import numpy as np

from .._core.types import PathLike
from ..errors import FileError

TYPES = {
    "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32,
    "I32": np.int32, "U64": np.uint64, "I64": np.int64, "F16": np.float16, "F32": np.float32,
    "F64": np.float64,
}  # fmt: skip

MAX_HEADER_BYTES = 100_000_000  # the limit of the format
_MAX_DIMENSIONS = 8


class Entry(NamedTuple):
    """One array: its type and shape, and where its bytes lie in the file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """What the header says: the texts about the file, and the arrays."""

    metadata: dict[str, str]
    entries: dict[str, Entry]


def read_header(file: IO[bytes], path: PathLike) -> Header:
    """The header of an open file, checked against the size of the file."""
    try:
        return _header(file)
    except (ValueError, OSError) as error:
        raise FileError(
            f"{path}: not a whole safetensors file ({error}); make it again from its source."
        ) from error


def parse_json(text: str | bytes) -> Any:
    """What JSON of a file says; everything that is wrong with it is a ValueError.

    Names that occur twice are wrong too.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _header(file: IO[bytes]) -> Header:
    n_bytes = os.fstat(file.fileno()).st_size
    size = int.from_bytes(file.read(8), "little")
    if n_bytes < 8 or size > min(MAX_HEADER_BYTES, n_bytes - 8):
        raise ValueError("its header does not fit into it")
    text = file.read(size)
    fields = parse_json(text)
    if len(text) < size or not isinstance(fields, dict):
        raise ValueError("its header is damaged")
    metadata = fields.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("its metadata are damaged")
    first = 8 + size
    entries = {name: _entry(name, fields[name], first) for name in fields}
    end = first
    for name, entry in sorted(entries.items(), key=lambda item: item[1][2:]):
        if entry.begin != end:
            raise ValueError(f"array {name[:80]!r} does not follow the one before")
        end = entry.end
    if end != n_bytes:
        raise ValueError(f"it has {n_bytes} bytes where its header asks for {end}")
    return Header(metadata, entries)


def _entry(name: str, fields: Any, first: int) -> Entry:
    """The entry of an array; its offsets count from `first`."""
    wrong = ValueError(f"the entry of array {name[:80]!r} is damaged")
    if not isinstance(fields, dict) or set(fields) != {"dtype", "shape", "data_offsets"}:
        raise wrong
    kind, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if not isinstance(kind, str) or kind not in TYPES:
        raise wrong
    if not (_are_sizes(shape) and len(shape) <= _MAX_DIMENSIONS):
        raise wrong
    if not (_are_sizes(offsets) and len(offsets) == 2):
        raise wrong
    dtype = np.dtype(TYPES[kind])
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"array {name[:80]!r} has not the bytes that its shape asks for")
    return Entry(dtype, tuple(shape), first + offsets[0], first + offsets[1])


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
        for value in values
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found
