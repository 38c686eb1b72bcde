"""Where rows came from: kept in every file that is made of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .fields import require_fit, whole_number


@dataclass(frozen=True)
class Origin:
    """A run of rows of one file.

    Attributes
    ----------
    source : str
        Name of the file, without the folders it lay in.
    first_row, rows : int
        Number of its first row that was taken, from 0, and how many were.
    one_based : bool or None
        Whether columns of svmlight text counted from 1; None for other formats.
    text : dict or None
        How text became rows (`text.TextSettings`), if it did.

    Examples
    --------
    >>> Origin("train.svm", 0, 1000, one_based=True).asdict()
    {'source': 'train.svm', 'first_row': 0, 'rows': 1000, 'one_based': True}
    """

    source: str
    first_row: int
    rows: int
    one_based: bool | None = None
    text: dict[str, Any] | None = field(default=None, hash=False)

    def asdict(self) -> dict[str, Any]:
        """The fields, for a file."""
        fields = {"source": self.source, "first_row": self.first_row, "rows": self.rows}
        more = {"one_based": self.one_based, "text": self.text}
        return fields | {name: value for name, value in more.items() if value is not None}


def read_provenance(entries: Any) -> list[Origin]:
    """The origins that a file lists; entries that make no sense are left out."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        try:
            base, name = entry.get("one_based"), entry["source"]
            first_row = whole_number(entry["first_row"], 0, 2**63, "first_row")
            rows = whole_number(entry["rows"], 0, 2**63, "rows")
            require_fit(isinstance(name, str) and base in (None, False, True), "not a source")
            base, text = None if base is None else bool(base), entry.get("text")
            require_fit(text is None or isinstance(text, dict), "not a way of text")
            found.append(Origin(name, first_row, rows, base, text))
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return found


def join_runs(origins: Iterable[Origin]) -> list[Origin]:
    """The same origins, consecutive runs of one file joined.

    >>> join_runs([Origin("a", 0, 5), Origin("a", 5, 2), Origin("b", 0, 1)])[0].rows
    7
    """
    joined: list[Origin] = []
    for origin in origins:
        last = joined[-1] if joined else None
        if (
            last is not None
            and (last.source, last.text) == (origin.source, origin.text)
            and last.first_row + last.rows == origin.first_row
        ):
            joined[-1] = replace(last, rows=last.rows + origin.rows)
        else:
            joined.append(origin)
    return joined


def column_base(origins: Sequence[Origin]) -> bool | None:
    """Whether svmlight columns counted from 1, if all origins that say so agree."""
    found = {origin.one_based for origin in origins if origin.one_based is not None}
    return found.pop() if len(found) == 1 else None


def text_of(origins: Sequence[Origin]) -> dict[str, Any] | None:
    """How text became these rows, if they came from text in one way."""
    ways = [origin.text for origin in origins]
    return ways[0] if ways and all(way == ways[0] for way in ways) else None
