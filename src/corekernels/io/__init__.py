"""Files: written whole or not at all."""

from .atomic import atomic_write

__all__ = ["atomic_write"]
