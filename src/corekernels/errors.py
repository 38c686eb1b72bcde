"""The exception family: everything raised on purpose is a `CoREError`.

A message names the argument or file, the place in it, what was found there and
what to do about it.
"""


class CoREError(Exception):
    """Base of all errors raised by corekernels."""


class DataError(CoREError, ValueError):
    """Rows that cannot be used: not finite, not numeric, of the wrong shape."""


class DataTypeError(DataError, TypeError):
    """An array, or an element of one, is of a kind that holds no numbers."""


class ParameterError(CoREError, ValueError):
    """An argument is out of its range or names something unknown."""


class FileError(CoREError, OSError):
    """A file cannot be read or written."""


class MissingExtra(CoREError, ImportError):
    """A part that comes with an optional extra is not installed."""


class RecipeMismatch(CoREError, ValueError):
    """Signatures that were not hashed alike cannot be compared."""

    def __init__(self, mine: object, theirs: object) -> None:
        fields = [
            f"{name} {getattr(mine, name)!r} and {getattr(theirs, name)!r}"
            for name in vars(mine)
            if getattr(mine, name) != getattr(theirs, name)
        ]
        super().__init__(f"recipes differ in {', '.join(fields)}; hash both sides with one hasher.")
