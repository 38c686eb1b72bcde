"""The file formats of rows: one list, which reading, writing and detection go by."""

from ..errors import ParameterError
from . import npy, npz, parquet, svmlight
from .format import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT for module in (svmlight, npz, npy, parquet)
}
TEXT = svmlight.FORMAT  # what comes through pipes, and what has no magic bytes


def format_named(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        raise ParameterError(f"format: got {name!r}; choose one of {', '.join(FORMATS)}.")
    return FORMATS[name]
