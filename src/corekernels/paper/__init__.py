"""The paper's experiments, rerun beside its own numbers: one module per table or figure."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reproduction import Reproduction, reproduce

__all__ = ["SCALES", "Reproduction", "reproduce"]

# how much of the paper a run repeats, and how long that takes
SCALES = {
    "quick": "scikit-learn's digits, a minute",
    "full": "the paper's data sets, an hour and a half on two cores",
}


def __getattr__(name: str) -> Any:
    """`reproduce` and what it needs, imported on use: the command line starts without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import reproduction

    return getattr(reproduction, name)
