"""The paper's experiments, rerun beside its own numbers: one module per table or figure."""

from typing import TYPE_CHECKING, Any

from .scales import SCALES

if TYPE_CHECKING:
    from .reproduction import Reproduction, reproduce

__all__ = ["SCALES", "Reproduction", "reproduce"]


def __getattr__(name: str) -> Any:
    """`reproduce` and what it needs, imported on use: the command line starts without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import reproduction

    return getattr(reproduction, name)
