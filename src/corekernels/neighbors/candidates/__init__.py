"""The search methods. A new one is a module with a `SearchMethod`, and its class in this list."""

from .base import SearchMethod
from .exact import Exact, Inverted
from .graph import Graph
from .lsh import HashTables

METHODS: dict[str, type[SearchMethod]] = {
    method.name: method for method in (Exact, Inverted, Graph, HashTables)
}

__all__ = ["METHODS", "Exact", "SearchMethod"]
