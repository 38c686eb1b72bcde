"""Packages that import their public names on use, as those of SciPy and scikit-image do.

The names and where they come from stand in the package's `__init__.pyi`, and nowhere else: type
checkers and editors read it as it is.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from its stub.

    No name of an object may be that of a module in the package: importing the module would put
    it in the object's place.

    >>> import corekernels.linear
    >>> get, _, names = lazy_names("corekernels.linear")
    >>> "c_path" in names, get("c_path").__module__
    (True, 'corekernels.linear.path')
    """
    module = sys.modules[package]
    stub = Path(module.__file__ or "").with_suffix(".pyi")
    modules = {
        alias.name: "." * node.level + (node.module or alias.name)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = importlib.import_module(modules[name], package)
        if modules[name].lstrip(".") != name:
            value = getattr(value, name)
        setattr(module, name, value)
        return value

    return get, lambda: sorted({*vars(module), *modules}), sorted(modules)
