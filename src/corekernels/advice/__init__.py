"""Advice: whether CoRE kernels help on the rows at hand."""

from .result import Advice, Candidate, Confusion
from .verdict import DEFAULT_SIZES, advise

__all__ = ["DEFAULT_SIZES", "Advice", "Candidate", "Confusion", "advise"]
