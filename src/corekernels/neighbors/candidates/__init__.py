"""The search methods. A new one is a module with a `SearchMethod`, and its class in this list."""

from .base import SearchMethod
from .exact import Exact, Inverted
from .graph import Graph
from .lsh import Tables

METHODS: dict[str, type[SearchMethod]] = {
    method.name: method for method in (Exact, Inverted, Graph, Tables)
}

__all__ = ["METHODS", "Exact", "SearchMethod"]
