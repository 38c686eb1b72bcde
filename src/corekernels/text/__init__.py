"""Text to rows: sparse features of documents that fit together everywhere."""

from .shingles import Shingles

__all__ = ["Shingles"]
