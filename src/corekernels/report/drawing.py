"""Figures drawn by matplotlib, on light or dark paper.

The first five colours of lines stay apart under the three kinds of colour blindness, and all ten
can be read as text; markers differ too, so that colour is never the only sign.
"""

import io
import math
import os
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from .._core.arguments import PathLike, require_extra
from ..errors import ParameterError
from ..io import atomic_write
from ..io.atomic import require_target
from .layout import Figure, Line, Panel, printable

# name: (on light paper, on dark paper)
SURFACES = {
    "paper": ("#fdfcfa", "#16181b"),
    "panel": ("#f5f3ee", "#1e2125"),
    "ink": ("#1d2025", "#e8e6e1"),
    "quiet": ("#5a606a", "#a7abb2"),
    "rule": ("#e2ded6", "#33373d"),
    "axis": ("#a8a59d", "#62676f"),
    "accent": ("#0b57a4", "#86bdf7"),
    "more": ("#0a5c9e", "#7fbcf5"),
    "less": ("#a8480a", "#f2a065"),
}
_ON_LIGHT = "#3d4149 #9a6612 #10846c #0e4caf #a02005 #763e90 #3a7390 #566129 #ce3881 #5963dc"
_ON_DARK = "#d3d8e2 #e9b01e #1e9b79 #76a5fe #ef5433 #c46acb #64cddb #a3b371 #e987a9 #8677f8"
COLOURS = tuple(zip(_ON_LIGHT.split(), _ON_DARK.split(), strict=True))
MARKERS = "os^DvPX*<>"  # as matplotlib names them

_SUFFIXES = (".png", ".svg", ".pdf")
_WIDTH = 880  # pixels
_PANEL_HEIGHTS = {1: 330, 2: 280, 3: 245}  # pixels, by the number of panels per row
_LETTER, _KEY_WIDTH, _KEY_HEIGHT = 6.6, 55, 18  # pixels of an entry in the legend
_PIXELS = 96  # per inch
_LINE_DASHES: dict[str, Any] = {"dashed": (0, (4, 2.2)), "dotted": (0, (1, 1.6)), "points": "none"}
_MARK_DASHES: tuple[Any, ...] = ((0, (4, 2)), (0, (1, 1.4)), (0, (7, 2, 1, 2)), (0, (9, 2)))
_MOST_MARKERS = 12  # per line
_INTERVAL_HEIGHT, _INTERVALS_FRAME = 27, 95  # pixels per interval, and of title and axis
_NAME_LETTERS = 60  # in a line of the names of intervals


class Ink(NamedTuple):
    """The colours of one drawing: of the page by their use, of lines by their names."""

    page: Mapping[str, str]
    lines: Mapping[str | None, str]  # None: of marks without a line
    markers: Mapping[str, str]


def require_figure(path: PathLike, *others: PathLike) -> None:
    """Raise unless a figure can be drawn and written there: for use before long work.

    `others` are the files that are read, or written as well.
    """
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"plot: got {os.fspath(path)!r}; end it in {', '.join(_SUFFIXES)}.")
    require_target(path, *others)
    require_extra("matplotlib", "plot", "figures")


def save_figure(figure: Figure, path: PathLike) -> None:
    """Write a figure as .png, .svg or .pdf, whole or not at all."""
    require_figure(path)
    with atomic_write(path) as file:
        _draw(figure, file, Path(path).suffix.lower()[1:])


def svg(figure: Figure, series: Sequence[str] = (), *, dark: bool = False) -> str:
    """A figure as the text of an SVG image; the same figure gives the same text.

    Lines named in `series` take the first colours, in this order.
    """
    file = io.BytesIO()
    _draw(figure, file, "svg", series, dark=dark)
    return printable(file.getvalue().decode())


def line_styles(figure: Figure, series: Sequence[str] = ()) -> dict[str, int]:
    """The number of the colour and marker of each line: different ones as long as they last.

    >>> panel = Panel("", "x", "y", [Line("linear", [0], [0]), Line("CoRE 2", [0], [0])])
    >>> line_styles(Figure("figure", "", "", [panel]), ["CoRE 1", "CoRE 2"])
    {'CoRE 2': 1, 'linear': 2}
    """
    names = figure.line_names()
    styles = {name: place % len(COLOURS) for place, name in enumerate(series) if name in names}
    order = [*range(len(series), len(COLOURS)), *range(len(COLOURS))]
    free = [place for place in order if place not in styles.values()] or order
    others = (name for name in names if name not in styles)
    return styles | {name: free[i % len(free)] for i, name in enumerate(others)}


def _draw(
    figure: Figure, file: IO[bytes], kind: str, series: Sequence[str] = (), *, dark: bool = False
) -> None:
    if not figure.panels:
        raise ParameterError(f"figure {figure.name!r}: has no panels; leave it out.")
    require_extra("matplotlib", "plot", "figures")
    import matplotlib.figure
    import matplotlib.style

    page = {name: pair[dark] for name, pair in SURFACES.items()}
    styles = line_styles(figure, series)
    lines: dict[str | None, str] = {name: COLOURS[i][dark] for name, i in styles.items()}
    ink = Ink(page, lines | {None: page["quiet"]}, {name: MARKERS[i] for name, i in styles.items()})
    columns = figure.n_columns
    rows = -(-len(figure.panels) // columns)
    height = rows * max(_PANEL_HEIGHTS[columns], *map(_intervals_height, figure.panels))
    with matplotlib.style.context(["default", _style(page)]), warnings.catch_warnings():
        # browsers draw the text, with a font of the reader that may have more letters
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        canvas = matplotlib.figure.Figure(layout="constrained")
        grid = list(canvas.subplots(rows, columns, sharey=figure.same_y, squeeze=False).flat)
        for spare in grid[len(figure.panels) :]:
            spare.remove()
        for axes, panel in zip(grid, figure.panels, strict=False):
            (_draw_intervals if panel.intervals else _draw_lines)(axes, panel, figure, ink)
            axes.set_xlabel(panel.x_label)
            axes.set_title("\n".join(textwrap.wrap(panel.title, _NAME_LETTERS // columns)))
        height += _draw_legend(canvas, figure, ink)
        canvas.set_size_inches(_WIDTH / _PIXELS, height / _PIXELS)
        title = " ".join(figure.alt.split())
        about = {"svg": {"Date": None, "Title": title}, "pdf": {"CreationDate": None}}
        canvas.savefig(file, format=kind, metadata=about.get(kind), dpi=2 * _PIXELS)


def _style(page: Mapping[str, str]) -> dict[str, Any]:
    """What differs from matplotlib's own style."""
    axis, quiet = page["axis"], page["quiet"]
    return {
        "font.size": 8.25, "font.sans-serif": ["DejaVu Sans"], "text.color": page["ink"],
        "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "corekernels",
        "figure.facecolor": page["paper"], "axes.facecolor": "none", "axes.edgecolor": axis,
        "axes.labelcolor": quiet, "axes.titlelocation": "left", "axes.titleweight": "bold",
        "axes.titlesize": 9.5, "axes.spines.right": False, "axes.spines.top": False,
        "axes.grid": True, "axes.grid.axis": "y", "axes.axisbelow": True, "grid.linewidth": 0.6,
        "grid.color": page["rule"], "axes.xmargin": 0.03,
        # each tick says its whole value: no common factor or summand in a corner
        "axes.formatter.useoffset": False, "axes.formatter.limits": (-99, 99),
        "xtick.color": axis, "xtick.labelcolor": quiet, "ytick.color": axis,
        "ytick.labelcolor": quiet, "lines.linewidth": 1.3, "legend.frameon": False,
        "figure.constrained_layout.w_pad": 0.1,  # letters are wider in browsers
    }  # fmt: skip


def _draw_lines(axes: Any, panel: Panel, figure: Figure, ink: Ink) -> None:
    names = [line.name for line in panel.lines]
    for line in panel.lines:
        # where a name has a curve and points, only the points carry the marker
        _draw_line(axes, line, ink, marked=names.count(line.name) == 1 or line.style == "points")
    if panel.log_x:
        _set_log(axes.xaxis, axes.set_xscale, [x for line in panel.lines for x in line.x])
    if panel.log_y:
        _set_log(axes.yaxis, axes.set_yscale, [y for line in panel.lines for y in line.y])
    axes.set_ylabel(panel.y_label)
    for mark in panel.marks:
        if math.isfinite(mark.y):
            axes.axhline(mark.y, color=ink.lines[mark.of], **_mark_style(figure, mark.name))


def _intervals_height(panel: Panel) -> int:
    """Pixels that the intervals of a panel need."""
    return _INTERVALS_FRAME + _INTERVAL_HEIGHT * len(panel.intervals) if panel.intervals else 0


def _draw_intervals(axes: Any, panel: Panel, figure: Figure, ink: Ink) -> None:
    """Draw intervals from top to bottom; those that stand out in the accent colour and bold."""
    for place, bar in enumerate(panel.intervals):
        colour = ink.page["accent" if bar.stands_out else "quiet"]
        reach = [[bar.value - bar.low], [bar.high - bar.value]]
        axes.errorbar(bar.value, place, xerr=reach, fmt="o", color=colour, capsize=2.5)
    names = ["\n".join(textwrap.wrap(bar.name, _NAME_LETTERS)) for bar in panel.intervals]
    axes.set_yticks(range(len(names)), names)
    for label, bar in zip(axes.get_yticklabels(), panel.intervals, strict=True):
        label.set_color(ink.page["accent" if bar.stands_out else "ink"])
        label.set_fontweight("bold" if bar.stands_out else "normal")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")


def _draw_line(axes: Any, line: Line, ink: Ink, marked: bool) -> None:
    colour = ink.lines[line.name]
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.16, linewidth=0)
    if line.style == "bars":
        axes.stairs(line.y, line.x, fill=True, color=colour, alpha=0.75)
        return
    axes.plot(
        line.x, line.y, label=line.name, color=colour,
        marker=ink.markers[line.name] if marked else "none", markersize=4.5,
        linestyle=_LINE_DASHES.get(line.style, "solid"),
        markevery=1 if line.style == "points" else -(-len(line.x) // _MOST_MARKERS) or 1,
    )  # fmt: skip


def _mark_style(figure: Figure, name: str) -> dict[str, Any]:
    """Dashes that no other name of a mark in the figure has."""
    dashes = _MARK_DASHES[figure.mark_names().index(name) % len(_MARK_DASHES)]
    return {"linestyle": dashes, "linewidth": 0.9}


def _set_log(axis: Any, set_scale: Any, values: Sequence[float]) -> None:
    """Make an axis logarithmic, with plain numbers at few ticks, if it has positive values."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    if any(value > 0 for value in values):
        base = 2 if all(value > 0 and math.frexp(value)[0] == 0.5 for value in values) else 10
        set_scale("log", base=base)
        low, high = axis.get_view_interval()
        decades = math.log10(high / low)
        subs = (1.0,) if base == 2 or decades > 2.5 else (1.0, 2.0, 5.0)
        axis.set_major_locator(MaxNLocator(4) if decades < 0.5 else LogLocator(base, subs))
        axis.set_major_formatter("{x:g}")
        axis.axes.minorticks_off()


def _draw_legend(canvas: Any, figure: Figure, ink: Ink) -> int:
    """Draw one legend above all panels: lines, then marks. Returns its height in pixels."""
    from matplotlib.lines import Line2D

    keys: dict[str, dict[Any, Any]] = {}  # lines of one name are shown over each other
    for line in (line for axes in canvas.axes for line in axes.lines):
        if line.get_label() in ink.markers:
            keys.setdefault(line.get_label(), {})[line.get_linestyle()] = line
    for name in figure.mark_names():
        key = Line2D([], [], color=ink.page["quiet"], **_mark_style(figure, name))
        keys.setdefault(name, {})["mark"] = key
    if not keys:
        return 0
    widest = max(_KEY_WIDTH + _LETTER * len(name) for name in keys)
    columns = min(len(keys), max(1, int(_WIDTH / widest)))
    handles = [tuple(lines.values()) for lines in keys.values()]
    canvas.legend(handles, list(keys), loc="outside upper left", ncols=columns)
    return _KEY_HEIGHT * -(-len(keys) // columns)
