"""CoRE kernels: nonlinear accuracy at linear cost for sparse, non-binary data."""

from . import datasets, distributed, documents, files, io, linear, text, theory
from .advice.verdict import advise
from .classifier import CoREClassifier
from .errors import CoREError
from .hasher import CoREHasher
from .kernels import (
    core1,
    core2,
    core_rbf,
    correlation,
    gram_chunks,
    gram_to_file,
    resemblance,
)
from .models import load_model
from .neighbors import CoRENeighbors, CoRENeighborsTransformer
from .planner import Plan, plan
from .recipe import Recipe
from .regressor import CoRERegressor
from .signatures import Signatures, concatenate

__version__ = "0.1.0.dev0"

__all__ = [
    "CoREClassifier",
    "CoREError",
    "CoREHasher",
    "CoRENeighbors",
    "CoRENeighborsTransformer",
    "CoRERegressor",
    "Plan",
    "Recipe",
    "Signatures",
    "advise",
    "concatenate",
    "core1",
    "core2",
    "core_rbf",
    "correlation",
    "datasets",
    "distributed",
    "documents",
    "files",
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
