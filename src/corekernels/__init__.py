"""CoRE kernels: nonlinear accuracy at linear cost for sparse, non-binary data."""

from . import theory
from .errors import CoREError
from .kernels import core1, core2, correlation, gram_chunks, gram_to_file, resemblance

__version__ = "0.1.0.dev0"

__all__ = [
    "CoREError",
    "core1",
    "core2",
    "correlation",
    "gram_chunks",
    "gram_to_file",
    "resemblance",
    "theory",
]
