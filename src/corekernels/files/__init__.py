"""Jobs on files larger than memory: hash, learn, predict, estimate, search, deduplicate.

Every function takes readers, from `open_reader`, and goes through them batch by batch.
Files are written whole or not at all.
"""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
