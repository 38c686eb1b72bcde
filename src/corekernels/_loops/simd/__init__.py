"""Vector operations for the loops; README.md here says what they are and why."""

SUPPORTED_NUMBA = ("0.61", "0.69")  # from the first, below the second
