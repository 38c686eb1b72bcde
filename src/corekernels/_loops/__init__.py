"""The hot loops. Plain arrays in, `out` arrays last; NumPy and Numba only."""
