"""Text from files, such as labels and names, on terminals and in lines of results."""

import json
import re
from collections.abc import Iterable
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with control characters, newlines among them, as JSON strings escape them.

    >>> print(visible("C:\\red\x1b[31m\n"))
    C:\red\u001b[31m\n
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda found: json.dumps(found[0])[1:-1], text)


def field(value: object) -> str:
    r"""A value as a field of a line: on one line, without tabs, and readable back.

    >>> print(field("C:\\red\x1b[31m\n"))
    C:\\red\u001b[31m\n
    """
    return visible(str(value).replace("\\", r"\\"))


def fields(values: Iterable[object]) -> list[Any]:
    """The values, of which those that are no whole numbers are fields."""
    return [value if isinstance(value, int) else field(value) for value in values]
