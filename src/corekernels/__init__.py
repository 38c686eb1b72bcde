"""CoRE kernels: nonlinear accuracy at linear cost for sparse, non-binary data."""

import importlib
from typing import TYPE_CHECKING, Any

from . import documents, files, io, linear, text, theory
from .classifier import CoREClassifier
from .errors import CoREError
from .hasher import CoREHasher
from .kernel_table import Kernel
from .kernels import (
    core1,
    core2,
    core_rbf,
    correlation,
    gram,
    gram_chunks,
    gram_to_file,
    resemblance,
)
from .levels import Levels
from .models import load_model
from .neighbors import CoRENeighbors, CoRENeighborsTransformer
from .planner import Plan, plan
from .recipe import Recipe
from .regressor import CoRERegressor
from .signatures import Signatures, concatenate

if TYPE_CHECKING:
    from . import distributed
    from .advice import advise

__version__ = "0.1.0"

__all__ = [
    "CoREClassifier",
    "CoREError",
    "CoREHasher",
    "CoRENeighbors",
    "CoRENeighborsTransformer",
    "CoRERegressor",
    "Kernel",
    "Levels",
    "Plan",
    "Recipe",
    "Signatures",
    "advise",
    "concatenate",
    "core1",
    "core2",
    "core_rbf",
    "correlation",
    "distributed",
    "documents",
    "files",
    "gram",
    "gram_chunks",
    "gram_to_file",
    "io",
    "linear",
    "load_model",
    "plan",
    "resemblance",
    "text",
    "theory",
]

# imported on use: what they need of scikit-learn takes as long as half of this package
_ON_USE = {"advise": "advice", "distributed": "distributed"}


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module(f".{_ON_USE[name]}", __name__)
    return room if name == _ON_USE[name] else getattr(room, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
