"""Files: rows and results, written whole or not at all, read without being trusted."""

from .atomic import atomic_write
from .containers import load_arrays, save_arrays
from .formats import CONTAINER_KINDS, detect
from .provenance import Origin
from .readers import Batch, Reader, RowReader
from .rows import RowWriter, open_rows, read_rows, write_rows

__all__ = [
    "CONTAINER_KINDS", "Batch", "Origin", "Reader", "RowReader", "RowWriter", "atomic_write",
    "detect", "load_arrays", "open_rows", "read_rows", "save_arrays", "write_rows",
]  # fmt: skip
