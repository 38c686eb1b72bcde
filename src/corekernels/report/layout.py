"""What a report is made of: sections of text, tables and figures, without any look.

Texts are plain; a part between backticks is shown as code.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .._core.arguments import require_choice
from .._core.escaping import visible
from ..errors import ParameterError

LINE_STYLES = ("solid", "dashed", "dotted", "points", "bars")


@dataclass(frozen=True)
class Line:
    """One curve. Lines of one name have one colour on all panels of a report.

    Examples
    --------
    >>> from corekernels import report
    >>> report.Line("CoRE 1", x=[64, 256, 1024], y=[63.6, 75.5, 82.9]).style
    'solid'
    """

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
    """A level to compare with, such as a published accuracy: a line across the panel.

    Examples
    --------
    >>> from corekernels import report
    >>> report.Mark("exact kernel", 87.9, of="CoRE 1").y
    87.9
    """

    name: str
    y: float
    of: str | None = None  # the name of the line it belongs to, whose colour it takes


@dataclass(frozen=True)
class Interval:
    """A value with its interval, as a dot and a bar beside its name; drawn from top to bottom.

    Examples
    --------
    >>> from corekernels import report
    >>> bar = report.Interval("CoRE 1", 87.9, 87.6, 88.2)
    >>> report.Panel("M-Rotate", "accuracy, %", "", [], intervals=[bar]).title
    'M-Rotate'
    """

    name: str
    value: float
    low: float
    high: float
    stands_out: bool = False  # of those that the page is about


@dataclass(frozen=True)
class Panel:
    """One pair of axes: lines and marks, or intervals.

    Examples
    --------
    >>> from corekernels import report
    >>> curve = report.Line("CoRE 1", [64, 256], [63.6, 75.5])
    >>> report.Panel("M-Rotate", "hashes", "accuracy, %", [curve], log_x=True).title
    'M-Rotate'
    """

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
    """Panels side by side, sharing one legend.

    Examples
    --------
    >>> from corekernels import report
    >>> panel = report.Panel("A", "x", "y", [report.Line("CoRE 1", [0, 1], [0, 1])])
    >>> figure = report.Figure("growth", "It grows.", "A rising line.", [panel, panel])
    >>> figure.n_columns, figure.line_names()
    (2, ['CoRE 1'])
    """

    name: str  # of its file, without an ending
    caption: str
    alt: str  # what is to be seen, for those who cannot
    panels: Sequence[Panel]
    same_y: bool = False  # one scale and range of y for all panels

    def __post_init__(self) -> None:
        _require_name("figure", self.name)

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
    """Rows of cells, the first cell naming the row; None is shown as a dash.

    Examples
    --------
    >>> from corekernels import report
    >>> table = report.Table("Accuracy, %.", ["k", "accuracy"], [["64", "63.6"], ["256", None]])
    >>> table.headings()
    ['k', 'accuracy']
    """

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

    def headings(self, between: str = " ") -> list[str]:
        """One heading per column, after that of its group: for where there is only one line."""
        groups = [heading for heading, width in self.groups for _ in range(width)]
        pairs = zip(groups or [""] * len(self.columns), self.columns, strict=True)
        return [f"{group}{between}{name}" if group else name for group, name in pairs]


@dataclass(frozen=True)
class Section:
    """One result: text, then tables, then figures, then notes.

    Examples
    --------
    >>> from corekernels import report
    >>> report.Section("hashing", "Hashing", ["More hashes help."]).title
    'Hashing'
    """

    name: str
    title: str
    text: Sequence[str] = ()  # paragraphs
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()  # where the data came from, what was left out and why
    seconds: float | None = None
    command: str | None = None
    command_label: str = "Repeat with"  # what the command is for

    def __post_init__(self) -> None:
        _require_name("section", self.name)


@dataclass(frozen=True)
class Report:
    """The whole page.

    Examples
    --------
    >>> from corekernels import report
    >>> section = report.Section("hashing", "Hashing", ["More hashes help."])
    >>> report.Report("One result", ["Measured on digits."], [section]).figures()
    []
    """

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]
    facts: dict[str, str] = field(default_factory=dict)  # seed, versions, machine
    series: Sequence[str] = ()  # names of lines that take the first colours, in this order

    def __post_init__(self) -> None:
        for kind, parts in (("section", self.sections), ("figure", self.figures())):
            names = [part.name for part in parts]
            if twice := [name for name in names if names.count(name) > 1]:
                raise ParameterError(f"{kind}: two are named {twice[0]!r}; rename one of them.")

    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [figure for section in self.sections for figure in section.figures]


def _require_name(kind: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ParameterError(
            f"{kind}: name {name!r}; use letters, digits, '-' and '_' alone, as it becomes a "
            "file and an address."
        )


_NUMBER = re.compile(r"[<>≤≥≈~±+\-−]?\s*\.?\d")


def duration(seconds: float, *, fine: bool = False) -> str:
    """Seconds as a person says them; if `fine`, less than a tenth of one in milliseconds.

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


def spans(text: str) -> Iterator[tuple[bool, str]]:
    """The pieces of a text with whether each is code, which stands between backticks.

    >>> list(spans("run `make`"))
    [(False, 'run '), (True, 'make')]
    """
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # a backtick without its twin is only a backtick
        pieces[-2:] = ["`".join(pieces[-2:])]
    for i, piece in enumerate(pieces):
        if piece:
            yield i % 2 == 1, piece


def printable(page: str) -> str:
    """A page in which control characters are seen, not done; newlines stay."""
    return "\n".join(map(visible, page.split("\n")))


def unbroken(text: str) -> str:
    """Text with no line broken before a short number, = or %.

    >>> unbroken("CoRE 1: 80 %")
    'CoRE\\xa01: 80\\xa0%'
    """
    return re.sub(r"(?<=\w) (?=\d\b|[=%])|(?<= =) ", "\u00a0", text)


def cell_text(cell: str | None) -> str:
    """What a cell shows: a dash for nothing, and a real minus before a number."""
    return re.sub(r"^-(?=[\d.])", "−", (cell or "").strip()) or "–"


def sign(cell: str | None) -> str:
    """What a difference says: " more", " less" or, where there is none, nothing."""
    text = cell_text(cell)
    return {"+": " more", "−": " less"}.get(text[0], "") if re.search("[1-9]", text) else ""


def column_kinds(table: Table) -> list[str]:
    """What each column holds: "text", "number" or "difference"; the first names the rows."""
    kinds = []
    for i, name in enumerate(table.columns):
        cells = [cell for row in table.rows if (cell := (row[i] or "").strip())]
        is_difference = name.lower().startswith("diff") or any(c.startswith("+") for c in cells)
        if i == 0 or not cells or not all(_NUMBER.match(cell) for cell in cells):
            kinds.append("text")
        else:
            kinds.append("difference" if is_difference else "number")
    return kinds
