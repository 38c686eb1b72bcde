"""Advice: whether CoRE kernels help on the rows at hand."""

from .verdict import Advice, advise

__all__ = ["Advice", "advise"]
