"""The experiments are written against the public names of the package alone."""

import ast
import importlib
from pathlib import Path

import corekernels as ck

FOLDER = Path(__file__).parents[2] / "reproduction"


def used_names(tree):
    """`(module, name)` for each name of the package that a module imports or takes from `ck`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("corekernels"):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                (alias.name, "__version__") for alias in node.names if "corekernels." in alias.name
            )
        elif isinstance(node, ast.Attribute):
            match node.value:
                case ast.Name("ck"):
                    yield "corekernels", node.attr
                case ast.Attribute(ast.Name("ck"), room):
                    yield f"corekernels.{room}", node.attr


def test_public_names_alone_are_used():
    found = {
        (module, name)
        for path in FOLDER.rglob("*.py")
        for module, name in used_names(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert ("corekernels", "CoREHasher") in found
    assert ("corekernels.linear", "c_path") in found
    private = []
    for module, name in found - {("corekernels", "__version__")}:
        room = importlib.import_module(module)
        public = getattr(room, "__all__", None) or [n for n in vars(ck.errors) if n[0] != "_"]
        if name not in public or "._" in module:
            private.append(f"{module}.{name}")
    assert private == []
