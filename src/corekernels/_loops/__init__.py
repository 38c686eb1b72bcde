"""The hot loops. Plain arrays in, `out` arrays last; NumPy and Numba only."""

from .compilation import ensure_cache

ensure_cache()
