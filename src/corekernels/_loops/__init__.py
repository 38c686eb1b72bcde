"""The hot loops. Plain arrays in, `out` arrays last; NumPy and Numba only."""

from .compilation import ensure_cache, watch_compiling

ensure_cache()
watch_compiling()
