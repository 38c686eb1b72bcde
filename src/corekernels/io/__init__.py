"""Files: written whole or not at all, read without being trusted."""

from .atomic import atomic_write
from .containers import load_arrays, save_arrays

__all__ = ["atomic_write", "load_arrays", "save_arrays"]
