"""CoRE kernels: nonlinear accuracy at linear cost for sparse, non-binary data."""

from ._core.lazy import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(__name__)
