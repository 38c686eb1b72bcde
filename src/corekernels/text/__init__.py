"""Text to rows: sparse features of documents that fit together everywhere."""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
