"""Text to rows: sparse features of documents that fit together everywhere."""

from .frequencies import InverseDocumentFrequency
from .settings import TextSettings
from .shingles import Shingles

__all__ = ["InverseDocumentFrequency", "Shingles", "TextSettings"]
