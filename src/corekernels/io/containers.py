"""Arrays and a JSON description of them in one safetensors file.

The file is written as it streams, without a second copy in memory, and read back
memory-mapped. Nothing in it is ever executed. The safetensors package is not needed, as files of
models and signatures are no extra; tests read them with it. All of a file is read through one
descriptor, so that description and arrays belong together even where another file takes its name
meanwhile.

A file is the length of the header (8 bytes), the header (JSON) and the bytes of the arrays, one
after the other in the order of their offsets, without gaps and to the end of the file.
"""

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from .._core.arguments import Array, PathLike
from ..errors import DataError, FileError
from .atomic import Target, atomic_write
from .provenance import Identity, checking, open_file, reading, require_fit

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


def parse_json(text: str | bytes) -> Any:
    """What JSON of a file says; everything that is wrong with it is a ValueError.

    Names that occur twice are wrong too.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        require_fit(len(fields) == len(pairs), "a name occurs twice")
        return fields

    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_header(file: IO[bytes], path: PathLike) -> tuple[dict[str, str], dict[str, Entry]]:
    """Texts about the file, and its arrays, checked against the size of the open file."""
    with reading(str(path), "safetensors"):
        return _header(file)


def _header(file: IO[bytes]) -> tuple[dict[str, str], dict[str, Entry]]:
    n_bytes = os.fstat(file.fileno()).st_size
    size = int.from_bytes(file.read(8), "little")
    require_fit(8 + size <= n_bytes and size <= MAX_HEADER_BYTES, "its header does not fit into it")
    text = file.read(size)
    fields = parse_json(text)
    require_fit(len(text) == size and isinstance(fields, dict), "its header is damaged")
    metadata = fields.pop("__metadata__", {})
    fits = isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())
    require_fit(fits, "its metadata are damaged")
    first = 8 + size
    entries = {name: _entry(name, fields[name], first) for name in fields}
    end = first
    for name, entry in sorted(entries.items(), key=lambda item: item[1][2:]):
        require_fit(entry.begin == end, f"array {name[:80]!r} does not follow the one before")
        end = entry.end
    require_fit(end == n_bytes, f"it has {n_bytes} bytes where its header asks for {end}")
    return metadata, entries


def _entry(name: str, fields: Any, first: int) -> Entry:
    """The entry of an array; its offsets count from `first`."""
    damaged = f"the entry of array {name[:80]!r} is damaged"
    fits = isinstance(fields, dict) and set(fields) == {"dtype", "shape", "data_offsets"}
    require_fit(fits, damaged)
    kind, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    fits = isinstance(kind, str) and kind in TYPES and _are_sizes(shape) and _are_sizes(offsets)
    require_fit(fits and len(shape) <= _MAX_DIMENSIONS and len(offsets) == 2, damaged)
    dtype = np.dtype(TYPES[kind])
    fits = offsets[1] - offsets[0] == math.prod(shape) * dtype.itemsize
    require_fit(fits, f"array {name[:80]!r} has not the bytes that its shape asks for")
    return Entry(dtype, tuple(shape), first + offsets[0], first + offsets[1])


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
        for value in values
    )


_WRITE_BYTES = 1 << 18


@dataclass(frozen=True)
class Stacked:
    """An array in pieces, one below the other, which are made when they are written, in order."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Callable[[], Iterable[Array]]

    @classmethod
    def of(cls, arrays: Sequence[Array]) -> "Stacked":
        """Arrays in memory, or mapped into it."""
        first = arrays[0]
        shape = first.shape and (sum(map(len, arrays)), *first.shape[1:])
        return cls(first.dtype, shape, lambda: arrays)

    def write_to(self, file: IO[bytes]) -> None:
        """Write in short runs, so that a mapped array is not read into memory whole."""
        for piece in self.pieces():
            if piece.ndim == 0 or piece.size == 0:
                file.write(piece.tobytes())
                continue
            rows = max(1, _WRITE_BYTES // max(1, piece[:1].nbytes))
            for start in range(0, len(piece), rows):
                file.write(np.ascontiguousarray(piece[start : start + rows]).data)


_NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()}
_PREFIX = "corekernels."


@dataclass(frozen=True)
class Container:
    """What a file that `save_arrays` wrote holds."""

    kind: str
    about: Any  # the description, as JSON gives it: nothing about it is checked
    arrays: dict[str, Array]
    identity: Identity  # tells whether the file is still the same when it is opened again


def save_arrays(
    path: Target,
    kind: str,
    version: int,
    arrays: Mapping[str, Array | Stacked],
    about: Any,
    *,
    durable: bool = True,
    shared: bool = False,
) -> None:
    """Write arrays and a description of them; `kind` and `version` say how to read it.

    The target is a path, or a binary file that is open for this alone.

    Unless `durable`, the file is safe from a killed process but not from a power failure.
    `shared` is that of `atomic_write`.

    Examples
    --------
    >>> import corekernels as ck
    >>> import numpy as np
    >>> ck.io.save_arrays("a.safetensors", "mine", 1, {"x": np.arange(3)}, {"unit": "kg"})
    >>> ck.io.load_arrays("a.safetensors", "mine", 1, mmap=False)
    ({'x': array([0, 1, 2])}, {'unit': 'kg'})
    """
    stored = {
        name: Stacked.of([array]) if isinstance(array, np.ndarray) else array
        for name, array in arrays.items()
    }
    # widest first, so that every array starts at a multiple of its item size
    ordered = dict(sorted(stored.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])))
    header: dict[str, Any] = {
        "__metadata__": {
            "format": _PREFIX + kind,
            "version": str(version),
            "about": json.dumps(about, sort_keys=True),
        }
    }
    end = 0
    for name, array in ordered.items():
        begin, end = end, end + math.prod(array.shape) * array.dtype.itemsize
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise DataError(
            f"{path}: names of classes and columns take {len(text):,} bytes, of which a file "
            f"holds {MAX_HEADER_BYTES:,}; shorten them or leave them out."
        )
    opened: contextlib.AbstractContextManager[IO[bytes]]
    if isinstance(path, str | os.PathLike):
        opened = atomic_write(path, 8 + len(text) + end, durable=durable, shared=shared)
    else:
        opened = contextlib.nullcontext(path)
    with opened as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in ordered.values():
            array.write_to(file)


def load_arrays(
    path: PathLike, kind: str, version: int, *, mmap: bool = True
) -> tuple[dict[str, Array], Any]:
    """The arrays of a file that `save_arrays` wrote, and their description.

    Examples
    --------
    >>> import corekernels as ck
    >>> import numpy as np
    >>> ck.io.save_arrays("a.safetensors", "mine", 1, {"x": np.arange(3)}, {"unit": "kg"})
    >>> arrays, about = ck.io.load_arrays("a.safetensors", "mine", 1, mmap=False)
    >>> arrays["x"], about
    (array([0, 1, 2]), {'unit': 'kg'})
    """
    container = read_container(path, (kind,), version, mmap=mmap)
    return container.arrays, container.about


def read_container(
    path: PathLike,
    kinds: Iterable[str],
    version: int,
    *,
    mmap: bool = True,
    identity: Identity | None = None,
) -> Container:
    """What a file of one of these kinds holds.

    With an `identity`, the file must be the one that was read before.
    """
    path, kinds = Path(path), tuple(kinds)
    with _open(path) as file:
        identity_here = Identity.of(file)
        if identity is not None and identity != identity_here:
            raise FileError(f"{path}: changed while it was read; begin again.")
        metadata, entries = read_header(file, path)
        kind = _require_kind(path, metadata, kinds, version)
        remedy = "make it again from its source"
        with checking(path, remedy, "its description is damaged"):
            about = parse_json(metadata["about"])
        with checking(path, remedy, "its arrays cannot be read"):
            arrays = _read_arrays(file, entries, mmap)
    return Container(kind, about, arrays, identity_here)


def container_kind(path: PathLike) -> str | None:
    """The kind of a file that `save_arrays` wrote; None for other safetensors files."""
    with _open(Path(path)) as file:
        metadata, _ = read_header(file, path)
        return _kind_of(metadata)


def _open(path: Path) -> IO[bytes]:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError(f"{path}: is a device or a pipe; give the name of a file.")
    return open_file(path)


def _kind_of(metadata: dict[str, str]) -> str | None:
    name = metadata.get("format", "")
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else None


def _require_kind(
    path: Path, metadata: dict[str, str], kinds: tuple[str, ...], version: int
) -> str:
    """The kind of the file, which must be one of these, in this version."""
    kind = _kind_of(metadata)
    if kind is None or kind not in kinds:
        name = metadata.get("format") or "something else"
        names = " or ".join(_PREFIX + kind for kind in kinds)
        raise FileError(f"{path}: holds {name[:80]}, not {names}; name another file.")
    if not {"version", "about"} <= metadata.keys():
        raise FileError(f"{path}: its description is damaged; make it again from its source.")
    if metadata["version"] != str(version):
        raise FileError(
            f"{path}: is in version {metadata['version'][:20]} of its format, this corekernels "
            f"reads version {version}; make it again from its source."
        )
    return kind


def _read_arrays(file: IO[bytes], entries: dict[str, Entry], mmap: bool) -> dict[str, Array]:
    """The arrays, mapped or read; one that lies askew in the file is copied."""
    file.seek(0)
    whole = np.memmap(file, np.uint8, mode="r") if mmap else np.fromfile(file, np.uint8)
    return {
        name: np.require(whole[begin:end].view(dtype).reshape(shape), None, ["A"])
        for name, (dtype, shape, begin, end) in entries.items()
    }
