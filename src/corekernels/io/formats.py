"""The file formats of rows: one list, which reading, writing and detection go by."""

from .._core.arguments import require_choice
from . import npy, npz, parquet, svmlight
from .format import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT for module in (svmlight, npz, npy, parquet)
}
TEXT = svmlight.FORMAT  # what comes through pipes, and what has no magic bytes


def format_named(name: str) -> Format:
    """The format of this name."""
    return FORMATS[require_choice("format", name, tuple(FORMATS))]
