"""Parts of a report: records of text, tables and figures, without any style.

Text is plain; a part between backticks is shown as code.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from .._core.arguments import require_choice
from .._core.escaping import visible
from ..errors import ParameterError

__all__ = ["Figure", "Interval", "Line", "Mark", "Panel", "Report", "Section", "Table"]

LINE_STYLES = ("solid", "dashed", "dotted", "points", "bars")


@dataclass(frozen=True)
class Line:
    """One curve. Lines of one name have one colour on all panels of a figure."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None  # a band around the curve
    high: Sequence[float] | None = None
    style: str = "solid"  # one of LINE_STYLES; "bars" is a histogram, x the edges of its bins

    def __post_init__(self) -> None:
        require_choice(f"line {self.name!r}: style", self.style, LINE_STYLES)


@dataclass(frozen=True)
class Mark:
    """A level to compare with, such as a published accuracy: a line across the panel."""

    name: str
    y: float
    of: str | None = None  # the name of the line it belongs to, whose colour it takes


@dataclass(frozen=True)
class Interval:
    """A value with its interval, as a dot and a bar beside its name; drawn from top to bottom."""

    name: str
    value: float
    low: float
    high: float
    stands_out: bool = False  # drawn in the accent colour


@dataclass(frozen=True)
class Panel:
    """One pair of axes: lines and marks, or intervals."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line] = ()
    marks: Sequence[Mark] = ()
    log_x: bool = False
    log_y: bool = False
    intervals: Sequence[Interval] = ()


@dataclass(frozen=True)
class Figure:
    """Panels side by side, sharing one legend."""

    name: str  # of its file, without an ending
    caption: str
    alt: str  # a description for readers who do not see the figure
    panels: Sequence[Panel]
    same_y: bool = False  # one scale and range of y for all panels

    @property
    def n_columns(self) -> int:
        """How many panels stand in a row."""
        n = len(self.panels)
        return 1 if n == 1 else 3 if n % 3 == 0 or n > 4 else 2

    def line_names(self) -> list[str]:
        """The names of its lines, and of lines that its marks belong to, each once."""
        lines = [line.name for panel in self.panels for line in panel.lines]
        owners = [m.of for panel in self.panels for m in panel.marks if m.of is not None]
        return list(dict.fromkeys(lines + owners))

    def mark_names(self) -> list[str]:
        """The names of its marks, each once."""
        return list(dict.fromkeys(mark.name for panel in self.panels for mark in panel.marks))


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first cell naming the row; None is shown as a dash."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    groups: Sequence[tuple[str, int]] = ()  # headings over runs of columns, as (heading, width)

    def __post_init__(self) -> None:
        n, where = len(self.columns), f"table {self.caption!r}:"
        for i, row in enumerate(self.rows):
            if len(row) != n:
                raise ParameterError(f"{where} row {i} has {len(row)} cells for {n} columns.")
        wide = sum(width for _, width in self.groups)
        if self.groups and wide != n:
            raise ParameterError(f"{where} groups span {wide} of {n} columns.")


@dataclass(frozen=True)
class Section:
    """One result: text, then code, then tables, then figures, then notes."""

    name: str
    title: str
    text: Sequence[str] = ()  # paragraphs
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()  # where the data came from, what was left out and why
    seconds: float | None = None
    code: str | None = None  # lines to paste
    command: str | None = None
    command_label: str = "Repeat with"  # what the command is for


@dataclass(frozen=True)
class Report:
    """The whole page."""

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]
    facts: dict[str, str] = field(default_factory=dict)  # seed, versions, machine
    series: Sequence[str] = ()  # names of lines that take the first colours, in this order

    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [figure for section in self.sections for figure in section.figures]


def duration(seconds: float, *, fine: bool = False) -> str:
    """A duration in words; if `fine`, less than a tenth of a second in milliseconds.

    >>> duration(0.42), duration(75), duration(7300), duration(0.0123, fine=True)
    ('0.4 s', '1 min 15 s', '2 h 2 min', '12 ms')
    """
    if fine and seconds < 0.095:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s".removesuffix(" 0 s")
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min".removesuffix(" 0 min")


def named_file(source: str, options: str = "") -> str:
    """A file as a command names it, and the options by which it is read.

    >>> named_file("my rows.csv", "--text body")
    "'my rows.csv' --text body"
    """
    return f"{shlex.quote(source)} {options}".strip()


def printable(page: str) -> str:
    """The text with control characters escaped, except newlines."""
    return "\n".join(map(visible, page.split("\n")))
