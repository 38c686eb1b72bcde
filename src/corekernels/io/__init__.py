"""Files: rows and results, written whole or not at all, read without being trusted."""

from .atomic import atomic_write
from .batches import Batch, RowReader
from .containers import load_arrays, save_arrays
from .detect import detect
from .rows import open_rows, read_rows
from .writing import RowWriter, write_rows

__all__ = [
    "Batch",
    "RowReader",
    "RowWriter",
    "atomic_write",
    "detect",
    "load_arrays",
    "open_rows",
    "read_rows",
    "save_arrays",
    "write_rows",
]
