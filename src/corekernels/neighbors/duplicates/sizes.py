"""How much of a file is worked on at a time: decides memory and speed, never the result."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Numbers of things taken together."""

    key_rows: int = 1 << 14  # rows whose keys form a block of the key file
    hashed_rows: int = 1 << 13
    pairs: int = 1 << 20  # pairs gathered before they are sorted
    bytes_per_value: int = 16  # of rows held: column and value, at most
