"""Files: rows and results, written whole or not at all, read without being trusted."""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
