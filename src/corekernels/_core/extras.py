"""Packages that come with an optional extra, imported on use."""

import importlib
from typing import Any

from ..errors import MissingExtra


def require_extra(module: str, extra: str, what: str) -> Any:
    """A module of an optional package, which an extra of corekernels installs.

    Raises `MissingExtra` if it is not there; `what` it is needed for is in the plural.

    >>> require_extra("nowhere", "plot", "figures")
    Traceback (most recent call last):
    corekernels.errors.MissingExtra: figures need nowhere, which is not installed; install it
    with: pip install 'corekernels[plot]'
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{what} need {package}, which is not installed; install it with: "
            f"pip install 'corekernels[{extra}]'"
        ) from error
