"""Arrays and a JSON description of them in one safetensors file.

The file is written as it streams, without a second copy in memory, and read back
memory-mapped. Nothing in it is ever executed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from .._core.types import Array, PathLike
from ..errors import FileError
from .atomic import atomic_write

_NAMES = {
    "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32,
    "I32": np.int32, "U64": np.uint64, "I64": np.int64, "F16": np.float16, "F32": np.float32,
    "F64": np.float64,
}  # fmt: skip
_CODES = {np.dtype(dtype): name for name, dtype in _NAMES.items()}
_WRITE_BYTES = 1 << 18


def save_arrays(
    path: PathLike, kind: str, version: int, arrays: Mapping[str, Array], about: Any
) -> None:
    """Write arrays and a description of them; `kind` and `version` say how to read it."""
    # widest first, so that every array starts at a multiple of its item size
    ordered = dict(sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])))
    header: dict[str, Any] = {
        "__metadata__": {
            "format": f"corekernels.{kind}",
            "version": str(version),
            "about": json.dumps(about, sort_keys=True),
        }
    }
    end = 0
    for name, array in ordered.items():
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": _CODES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with atomic_write(path, 8 + len(text) + end) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in ordered.values():
            _write_array(file, array)


def load_arrays(
    path: PathLike, kind: str, version: int, *, mmap: bool = True
) -> tuple[dict[str, Array], Any]:
    """The arrays of a file that `save_arrays` wrote, and their description."""
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileError(f"{path}: {what}; give the name of a corekernels {kind} file.")
    metadata = _metadata(path)
    found = metadata.get("format")
    if found != f"corekernels.{kind}":
        raise FileError(f"{path}: holds {found or 'something else'}, not corekernels.{kind}.")
    if not str(metadata.get("version", "")).isdigit() or "about" not in metadata:
        raise FileError(f"{path}: its description is damaged; make it again from its source.")
    if int(metadata["version"]) > version:
        raise FileError(
            f"{path}: written by a newer corekernels (version {metadata['version']} of this "
            f"format, {version} is known here); upgrade corekernels to read it."
        )
    try:
        about = json.loads(metadata["about"])
        return _read_arrays(path, mmap), about
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path}: its description is damaged ({error}).") from error


def container_kind(path: PathLike) -> str | None:
    """The kind of a file that `save_arrays` wrote; None for other safetensors files."""
    found = str(_metadata(Path(path)).get("format", ""))
    return found.removeprefix("corekernels.") if found.startswith("corekernels.") else None


def _metadata(path: Path) -> dict[str, Any]:
    try:
        with safe_open(path, framework="numpy") as file:  # checks header, offsets and size
            return file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise FileError(
            f"{path}: not a whole safetensors file ({error}); make it again from its source."
        ) from error


def _read_arrays(path: Path, mmap: bool) -> dict[str, Array]:
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    whole = np.memmap(path, np.uint8, mode="r") if mmap else np.fromfile(path, np.uint8)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = whole[8 + size + begin : 8 + size + end]
        arrays[name] = raw.view(_NAMES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def _write_array(file: Any, array: Array) -> None:
    """Write in pieces, so that a memory-mapped array is not read into memory whole."""
    if array.ndim == 0 or array.size == 0:
        file.write(array.tobytes())
        return
    rows = max(1, _WRITE_BYTES // max(1, array[:1].nbytes))
    for start in range(0, len(array), rows):
        file.write(np.ascontiguousarray(array[start : start + rows]).data)
