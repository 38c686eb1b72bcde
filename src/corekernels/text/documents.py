"""Documents as the loops take them: UTF-8 bytes one after the other, and where each begins.

Arrow arrays pass as they are; anything else becomes one, or is encoded document by document
where pyarrow is not installed.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.types import Array
from .._core.validation import read_only
from ..errors import DataError, DataTypeError

_LONGEST = 2**30  # bytes of a document
_OFFSETS = {"string": np.int32, "large_string": np.int64}


class Texts(NamedTuple):
    """Consecutive documents: document d is text[offsets[d]:offsets[d + 1]]."""

    text: Array
    offsets: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1


def as_texts(documents: Any, name: str = "X") -> list[Texts]:
    """The documents of a list, an array, a series or an Arrow array, in as many pieces."""
    if isinstance(documents, str | bytes):
        raise DataError(
            f"{name}: is a single string, not a collection of documents; put it into a list."
        )
    if getattr(documents, "ndim", 1) != 1:
        shape = " x ".join(map(str, documents.shape))
        raise DataError(f"{name}: is of shape {shape}; give one document after the other.")
    pieces: list[Texts] = []
    row = 0
    for array in _arrow_arrays(documents, name):
        is_list = isinstance(array, list)
        pieces.append(_encoded(array, name) if is_list else _of_arrow(array, name, row))
        row += len(pieces[-1])
    return pieces


def _arrow_arrays(documents: Any, name: str) -> Iterator[Any]:
    """The documents as Arrow arrays of strings, or as a list where there is no pyarrow."""
    try:
        import pyarrow
    except ImportError:
        yield list(documents)
        return
    if isinstance(documents, pyarrow.Array | pyarrow.ChunkedArray):
        arrow = documents
    elif hasattr(documents, "__arrow_c_stream__"):
        arrow = pyarrow.chunked_array(documents)
    else:
        documents = _as_list(documents, name)
        try:
            arrow = pyarrow.array(documents, pyarrow.large_string())
        except (pyarrow.ArrowException, UnicodeEncodeError, TypeError, ValueError):
            yield list(documents)  # one by one, so that an error names the document
            return
    if pyarrow.types.is_dictionary(arrow.type):
        arrow = arrow.cast(arrow.type.value_type)
    if not _is_text(pyarrow, arrow.type):
        raise DataTypeError(f"{name}: holds values of type {arrow.type}; give strings.")
    if str(arrow.type) not in _OFFSETS:  # views, which do not lie one after the other
        arrow = arrow.cast(pyarrow.large_string())
    yield from arrow.chunks if isinstance(arrow, pyarrow.ChunkedArray) else [arrow]


def _is_text(pyarrow: Any, kind: Any) -> bool:
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind) in (*_OFFSETS, "string_view")


def _as_list(documents: Any, name: str) -> Any:
    if isinstance(documents, np.ndarray | list):
        return documents
    if not isinstance(documents, Iterable):
        raise DataTypeError(f"{name}: is a {type(documents).__name__}; give a list of strings.")
    return list(documents)


def _of_arrow(array: Any, name: str, first_row: int) -> Texts:
    """The buffers of an Arrow array, without a copy."""
    if array.null_count:
        row = first_row + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise _missing(name, row)
    dtype = _OFFSETS[str(array.type)]
    _, offsets, text = array.buffers()
    if offsets is None or not len(array):
        return Texts(_bytes(None), read_only(np.zeros(1, np.int64)))
    start = array.offset
    ends = np.frombuffer(offsets, dtype)[start : start + len(array) + 1]
    return _checked(_bytes(text), read_only(ends, np.int64), name, first_row)


def _encoded(documents: list[Any], name: str) -> Texts:
    """A list of strings, encoded one by one."""
    encoded = []
    for row, document in enumerate(documents):
        if document is None or (isinstance(document, float) and np.isnan(document)):
            raise _missing(name, row)
        if not isinstance(document, str | bytes):
            kind = type(document).__name__
            raise DataTypeError(f"{name}: document {row} is of type {kind}; give strings.")
        try:
            encoded.append(document.encode() if isinstance(document, str) else document)
        except UnicodeEncodeError as error:
            raise DataError(
                f"{name}: document {row} cannot be written in UTF-8 ({error.reason} at character "
                f"{error.start}); replace such characters."
            ) from None
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(some) for some in encoded], out=offsets[1:])
    return _checked(_bytes(b"".join(encoded)), read_only(offsets), name, 0)


def _bytes(buffer: Any) -> Array:
    return read_only(np.frombuffer(b"" if buffer is None else buffer, np.uint8))


def _checked(text: Array, offsets: Array, name: str, first_row: int) -> Texts:
    """The documents, unless one is too long for the loops or not within the text."""
    lengths = np.diff(offsets)
    if lengths.min(initial=0) < 0 or offsets[0] < 0 or offsets[-1] > len(text):
        raise DataError(f"{name}: its offsets leave its text; the Arrow array is damaged.")
    if lengths.max(initial=0) > _LONGEST:
        row = first_row + int(np.argmax(lengths))
        raise DataError(
            f"{name}: document {row} has {lengths.max():,} bytes, more than {_LONGEST:,}; cut it."
        )
    return Texts(text, offsets)


def _missing(name: str, row: int) -> DataError:
    return DataError(
        f"{name}: document {row} is missing (null or NaN); make it an empty string, or drop it."
    )
