"""Text as it is shown: on terminals, in lines of results, and as tables in notebooks."""

import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with control characters, newlines among them, as JSON strings escape them.

    >>> print(visible("C:\\red\x1b[31m\n"))
    C:\red\u001b[31m\n
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda match: json.dumps(match[0])[1:-1], text)


def field(value: object) -> str:
    r"""A value as a field of a line: on one line, without tabs, and readable back.

    >>> print(field("C:\\red\x1b[31m\n"))
    C:\\red\u001b[31m\n
    """
    return visible(str(value).replace("\\", r"\\"))


def fields(values: Iterable[object]) -> list[Any]:
    """The values, of which those that are no whole numbers are fields."""
    return [value if isinstance(value, int) else field(value) for value in values]


_HASHED = 1 << 62  # columns of text


def count(number: int) -> str:
    """A number of things; that of the columns of text says that they are hashed.

    >>> count(1000), count(2**62)
    ('1,000', 'hashed (2^62)')
    """
    return "hashed (2^62)" if number == _HASHED else f"{number:,}"


# colours of the notebook itself, whatever its theme
_TABLE = (
    "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums;"
    "border-top:1px solid;border-bottom:1px solid"
)
_CAPTION = "text-align:left;font-weight:600;padding:.2em 0;color:inherit"
_NAME = "text-align:left;font-weight:400;opacity:.75;padding:.1em 1.2em .1em 0;vertical-align:top"
_VALUE = "text-align:left;padding:.1em 0"


def html_table(title: str, facts: Mapping[str, Any]) -> str:
    """Names and values as a small table; values that are None are left out.

    >>> html_table("A <thing>", {"rows": 1000, "left out": None}).count("<tr>")
    1
    """
    rows = "".join(
        f'<tr><th scope="row" style="{_NAME}">{escape(name)}</th>'
        f'<td style="{_VALUE}">{escape(_text(value))}</td></tr>'
        for name, value in facts.items()
        if value is not None
    )
    caption = f'<caption style="{_CAPTION}">{escape(title)}</caption>'
    return f'<table style="{_TABLE}">{caption}<tbody>{rows}</tbody></table>'


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    return count(value)
