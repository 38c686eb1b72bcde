"""Advice: whether CoRE kernels help on the rows at hand."""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
