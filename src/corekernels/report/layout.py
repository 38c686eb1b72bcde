"""What a report is made of: sections of text, tables and figures, without any look.

Texts are plain; a part between backticks is shown as code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Line:
    """One curve. Lines of one name have one colour on all panels of a report."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None  # a band around the curve
    high: Sequence[float] | None = None
    style: str = "solid"  # "solid", "dashed", "dotted" or "points"


@dataclass(frozen=True)
class Mark:
    """A level to compare with, such as the paper's accuracy: a line across, in a line's colour."""

    name: str
    y: float
    of: str | None = None  # the name of the line it belongs to


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side, sharing one legend."""

    name: str  # of its file, without an ending
    caption: str
    alt: str  # what is to be seen, for those who cannot
    panels: Sequence[Panel]
    columns: int | None = None  # panels in a row on a wide screen, 1 to 4; None: 2 or 3
    same_y: bool = False  # one range of y for all panels


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first cell naming the row; None is shown as a dash."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    groups: Sequence[tuple[str, int]] = ()  # headings over runs of columns, as (heading, width)

    def headings(self) -> list[str]:
        """One heading a column, with its group's before it: for where there is only one line."""
        pairs = zip(self.groups_of_columns(), self.columns, strict=True)
        return [f"{group} {name}".strip() for group, name in pairs]

    def groups_of_columns(self) -> list[str]:
        """The heading over each column; empty where there is none."""
        groups = [heading for heading, width in self.groups for _ in range(width)]
        return groups or [""] * len(self.columns)


@dataclass(frozen=True)
class Section:
    """One result of the paper, or one beyond it."""

    name: str
    title: str
    text: Sequence[str] = ()  # paragraphs before the tables and figures
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()  # what was regenerated or left out, and why
    seconds: float | None = None
    command: str | None = None  # repeats this section


@dataclass(frozen=True)
class Report:
    """The whole page."""

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]
    facts: dict[str, str] = field(default_factory=dict)  # seed, versions, machine
