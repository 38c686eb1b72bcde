"""From rows to signatures: each way of hashing is a sketch."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..recipe import Recipe
    from .base import Sketch

SCHEMES = ("circulant", "independent")  # each is a module here, with a function `make_sketch`


def sketch_of(recipe: "Recipe") -> "Sketch":
    """The sketch that hashes by a recipe."""
    sketch: Sketch = import_module(f".{recipe.scheme}", __name__).make_sketch(recipe)
    return sketch
