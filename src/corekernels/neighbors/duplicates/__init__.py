"""Near-duplicates: all pairs of rows above a threshold, in memory or in files of any size.

All go the same way. `tables` plans hash tables in which similar rows collide; `collisions`
turns equal keys into candidate pairs; the exact kernel decides; `copies` handles equal rows,
which are found by their digests and compared once. `in_memory` does that for the rows of an
index; `in_files` for files, with keys on the disk (`key_file`) and further passes that compare
candidates as they come by (`comparison`); `in_two_files` for pairs across two files.
`containment` finds candidates for that measure by samples of columns. `result` is what comes
back, and writes it.
"""

from ..._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
