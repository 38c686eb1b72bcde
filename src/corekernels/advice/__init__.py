"""Advice: whether CoRE kernels help on the rows at hand."""

from .result import Advice, Candidate
from .verdict import advise

__all__ = ["Advice", "Candidate", "advise"]
