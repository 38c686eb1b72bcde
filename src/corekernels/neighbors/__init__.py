"""Near neighbours in the space of the CoRE kernels."""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
