"""Near neighbours in the space of the CoRE kernels."""

from .duplicates.result import NearDuplicates
from .estimator import CoRENeighbors, RecallCheck
from .transformer import CoRENeighborsTransformer

__all__ = ["CoRENeighbors", "CoRENeighborsTransformer", "NearDuplicates", "RecallCheck"]
