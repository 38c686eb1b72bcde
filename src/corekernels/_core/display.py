"""How objects show themselves in notebooks: short tables, and links to the documentation."""

from collections.abc import Mapping
from html import escape
from typing import Any

SITE = "https://corekernels.readthedocs.io/en/stable"
_ROOMS = ("linear", "text")  # whose estimators are public there, not at the top

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
    return f"{value:,}"


class DocumentationLink:
    """What makes scikit-learn's display of an estimator link to its page of the documentation."""

    _doc_link_module = "corekernels"
    _doc_link_template = SITE + "/api/generated/{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        package, room = type(self).__module__.split(".")[:2]
        public = f"{package}.{room}" if room in _ROOMS else package
        return {"name": f"{public}.{type(self).__name__}"}
