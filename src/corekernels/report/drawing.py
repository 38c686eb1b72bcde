"""Figures drawn by matplotlib as SVG, on light or dark paper.

Colours and markers: one pair for each name of a line, on light and on dark paper.

The first five colours stay apart under the three kinds of colour blindness, and all ten can be read
as text; markers differ too, so that colour is never the only sign. Names that differ in a number
alone ("k = 64", "k = 128", "k = 256") are a scale: they get a ramp of colours in the order of the
numbers, and open markers.
"""

import io
import math
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core.arguments import require_extra
from ..errors import ParameterError
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


def _pairs(light: str, dark: str) -> list[tuple[str, str]]:
    return list(zip(light.split(), dark.split(), strict=True))


SERIES = _pairs(
    "#3d4149 #9a6612 #10846c #0e4caf #a02005 #763e90 #3a7390 #566129 #ce3881 #5963dc",
    "#d3d8e2 #e9b01e #1e9b79 #76a5fe #ef5433 #c46acb #64cddb #a3b371 #e987a9 #8677f8",
)
RAMP = _pairs(
    "#7f9a1f #4d962f #1f8a55 #117a76 #1a678c #26509a #35389a #3d1f84 #350a5c",
    "#3f6fd8 #2f8fd6 #27a9c4 #33c0a4 #5fd086 #93dc6c #c3e55a #eaec62 #fdf6b0",
)
# as matplotlib names them
SERIES_MARKERS, STEP_MARKERS = "os^DvPX*<>", "os^Dv<>ph"


@dataclass(frozen=True)
class Look:
    """How the lines of one name are drawn."""

    colours: tuple[str, str]  # on light and on dark paper
    marker: str
    is_step: bool = False  # of a ramp: with open markers


def assign_looks(figures: Sequence[Figure], series: Sequence[str] = ()) -> dict[str, Look]:
    """The look of each name in these figures; names in `series` take the first colours.

    Names in one figure share a colour only if they are more than there are colours.

    >>> assign_looks([], ["ours", "theirs"])["theirs"].marker
    's'
    """
    groups = [figure.line_names() for figure in figures]
    names = dict.fromkeys([*series, *(name for group in groups for name in group)])
    ramps = _ramps(name for name in names if name not in series)
    chosen: dict[str, int] = {}
    for name in names:
        if name in series:
            chosen[name] = len(chosen) % len(SERIES)
        elif name not in ramps:
            beside = {chosen.get(other) for group in groups if name in group for other in group}
            uses = Counter(chosen.values())
            rank = [(i in beside, i < len(series), uses[i], i) for i in range(len(SERIES))]
            chosen[name] = min(rank)[-1]
    return ramps | {name: Look(SERIES[i], SERIES_MARKERS[i]) for name, i in chosen.items()}


def _ramps(names: Iterable[str]) -> dict[str, Look]:
    """Looks for the names that are steps of a scale: three or more that differ in one number."""
    scales: dict[str, dict[str, float]] = {}
    for name in names:
        if number := re.search(r"\d+(?:\.\d+)?(?=\D*$)", name):
            pattern = name[: number.start()] + "#" + name[number.end() :]
            scales.setdefault(pattern, {})[name] = float(number[0])
    looks = {}
    for scale in (scale for scale in scales.values() if len(scale) >= 3):
        for step, name in enumerate(sorted(scale, key=scale.__getitem__)):
            colours = RAMP[round(step * (len(RAMP) - 1) / (len(scale) - 1))]
            looks[name] = Look(colours, STEP_MARKERS[step % len(STEP_MARKERS)], is_step=True)
    return looks


_WIDTH = 880  # pixels
_PANEL_HEIGHTS = {1: 330, 2: 280, 3: 245, 4: 220}  # pixels, by the number of panels per row
_LABELS = 45  # pixels beside the axes, about
_LETTER, _BOLD_LETTER = 6.6, 8.6  # pixels, of legends and of titles
_KEY_WIDTH, _KEY_HEIGHT = 55, 18  # pixels of an entry in the legend, without its letters
_PIXELS, _POINTS = 96, 72  # per inch
_LINE_DASHES: dict[str, Any] = {"dashed": (0, (4, 2.2)), "dotted": (0, (1, 1.6)), "points": "none"}
_MARK_DASHES: tuple[Any, ...] = ((0, (4, 2)), (0, (1, 1.4)), (0, (7, 2, 1, 2)), (0, (9, 2)))
_MARK_GAP = 8.5  # points between the values of two marks
_MARKER_SIZES = {"o": 4.3, "s": 4, "D": 3.8, "*": 6.5}  # others 5.2: they look equally large
_MOST_MARKERS = 12  # per line
_INTERVAL_HEIGHT, _INTERVALS_FRAME = 27, 95  # pixels per interval, and of title and axis
_NAME_SHARE, _NAME_LETTER = 0.42, 6.2  # of the width, that names of intervals may take; pixels


class Ink(NamedTuple):
    """The colours of one drawing: of the page by what they are for, of lines by their names."""

    page: Mapping[str, str]
    lines: Mapping[str | None, str]  # None: of what belongs to no line
    looks: Mapping[str, Look]


def draw(figure: Figure, looks: Mapping[str, Look], *, dark: bool = False) -> str:
    """A whole figure as the text of an SVG image; the same figure gives the same text."""
    if not figure.panels:
        raise ParameterError(f"figure {figure.name!r}: has no panels; leave it out.")
    require_extra("matplotlib", "report", "figures")
    import matplotlib.figure
    import matplotlib.style

    page = {name: pair[dark] for name, pair in SURFACES.items()}
    lines: dict[str | None, str] = {name: look.colours[dark] for name, look in looks.items()}
    ink = Ink(page, lines | {None: page["quiet"]}, looks)
    columns = figure.n_columns
    rows = -(-len(figure.panels) // columns)
    height = rows * max(_PANEL_HEIGHTS[columns], *map(_panel_height, figure.panels))
    with matplotlib.style.context(["default", _style(ink)]), warnings.catch_warnings():
        # browsers draw the text, with a font of the reader that may have more letters
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        canvas = matplotlib.figure.Figure(layout="constrained")
        grid = list(canvas.subplots(rows, columns, sharey=figure.same_y, squeeze=False).flat)
        for spare in grid[len(figure.panels) :]:
            spare.remove()
        values = [
            _draw_panel(axes, panel, figure, ink, _WIDTH / columns)
            for axes, panel in zip(grid, figure.panels, strict=False)
        ]
        height += _draw_legend(canvas, figure, ink)
        canvas.set_size_inches(_WIDTH / _PIXELS, height / _PIXELS)
        canvas.draw_without_rendering()  # computes the layout
        canvas.set_layout_engine("none")
        for texts in values:
            _move_apart(texts)
        file = io.StringIO()
        title = " ".join(figure.alt.split())
        canvas.savefig(file, format="svg", metadata={"Date": None, "Title": title})
        return printable(file.getvalue())


def _style(ink: Ink) -> dict[str, Any]:
    """What differs from matplotlib's own style."""
    axis, quiet = ink.page["axis"], ink.page["quiet"]
    return {
        "font.size": 8.25, "font.sans-serif": ["DejaVu Sans"], "text.color": ink.page["ink"],
        "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "corekernels",
        "figure.facecolor": ink.page["paper"], "figure.constrained_layout.h_pad": 0.06,
        "figure.constrained_layout.w_pad": 0.1,  # letters are wider in browsers
        "figure.constrained_layout.hspace": 0.05, "figure.constrained_layout.wspace": 0.05,
        "axes.facecolor": "none", "axes.edgecolor": axis, "axes.labelcolor": quiet,
        "axes.titlelocation": "left", "axes.titleweight": "bold", "axes.titlesize": 9.5,
        "axes.titlepad": 17,  # room for the label of y
        "axes.spines.left": False, "axes.spines.right": False, "axes.spines.top": False,
        "axes.grid": True, "axes.grid.axis": "y", "axes.axisbelow": True, "grid.linewidth": 0.6,
        "grid.color": ink.page["rule"], "axes.xmargin": 0.03, "axes.ymargin": 0.06,
        # each tick says its whole value: no common factor or summand in a corner
        "axes.formatter.useoffset": False, "axes.formatter.limits": (-99, 99),
        "xtick.color": axis, "xtick.labelcolor": quiet, "ytick.labelcolor": quiet,
        "xtick.major.size": 2.6, "ytick.major.size": 0, "lines.linewidth": 1.3,
        "legend.frameon": False, "legend.borderpad": 0, "legend.borderaxespad": 0.3,
        "legend.handlelength": 2.4, "legend.columnspacing": 1.6,
    }  # fmt: skip


def _draw_panel(axes: Any, panel: Panel, figure: Figure, ink: Ink, width: float) -> list[Any]:
    """Draw one pair of axes. Returns the values of its marks, written at the right edge."""
    if panel.intervals:
        _draw_intervals(axes, panel, ink.page, width)
        return []
    names = [line.name for line in panel.lines]
    for line in panel.lines:
        # where a name has a curve and points, only the points carry the marker
        _draw_line(axes, line, ink, marked=names.count(line.name) == 1 or line.style == "points")
    if panel.log_x:
        _set_log(axes.xaxis, axes.set_xscale, [x for line in panel.lines for x in line.x])
    if panel.log_y:
        _set_log(axes.yaxis, axes.set_yscale, [y for line in panel.lines for y in line.y])
    axes.set_xlabel(panel.x_label)
    axes.set_title("\n".join(textwrap.wrap(panel.title, int((width - _LABELS) / _BOLD_LETTER))))
    # above the axes, where it is read first and without turning the head
    quiet = ink.page["quiet"]
    axes.annotate(panel.y_label, (0, 1), (0, 6), "axes fraction", "offset points", color=quiet)
    marks = [mark for mark in panel.marks if math.isfinite(mark.y)]
    for mark in marks:
        axes.axhline(mark.y, color=ink.lines[mark.of], **_mark_style(figure, mark.name))
    place: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    values = axes.yaxis.get_major_formatter().format_ticks([mark.y for mark in marks])
    return [
        axes.annotate(value, (1, mark.y), (4, 0), va="center", color=ink.lines[mark.of], **place)
        for mark, value in zip(marks, values, strict=True)
    ]


def _panel_height(panel: Panel) -> int:
    """Pixels that the intervals of a panel need."""
    return _INTERVALS_FRAME + _INTERVAL_HEIGHT * len(panel.intervals) if panel.intervals else 0


def _draw_intervals(axes: Any, panel: Panel, page: Mapping[str, str], width: float) -> None:
    """Draw the intervals of a panel; those that stand out in the accent colour and bold."""
    intervals = panel.intervals
    places = range(len(intervals))
    letters = int(_NAME_SHARE * width / _NAME_LETTER)
    for place, one in zip(places, intervals, strict=True):
        colour = page["accent" if one.stands_out else "quiet"]
        reach = [[one.value - one.low], [one.high - one.value]]
        axes.errorbar(
            one.value, place, xerr=reach, fmt="o", color=colour, markersize=5, elinewidth=1.6,
            capsize=2.5,
        )  # fmt: skip
    names = ["\n".join(textwrap.wrap(one.name, letters)) for one in intervals]
    axes.set_yticks(places, names)
    for label, one in zip(axes.get_yticklabels(), intervals, strict=True):
        label.set_color(page["accent" if one.stands_out else "ink"])
        label.set_fontweight("bold" if one.stands_out else "normal")
    axes.set_ylim(len(intervals) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(panel.x_label)
    axes.set_title("\n".join(textwrap.wrap(panel.title, 40)), pad=6)


def _draw_line(axes: Any, line: Line, ink: Ink, marked: bool) -> None:
    look, colour, paper = ink.looks[line.name], ink.lines[line.name], ink.page["paper"]
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.16, linewidth=0)
    if line.style == "bars":
        axes.stairs(line.y, line.x, fill=True, color=colour, alpha=0.75)
        return
    points = line.style == "points"
    axes.plot(
        line.x, line.y, label=line.name, color=colour, marker=look.marker if marked else "none",
        linestyle=_LINE_DASHES.get(line.style, "solid"),
        markersize=_MARKER_SIZES.get(look.marker, 5.2) * (1.3 if points else 1),
        markerfacecolor=paper if look.is_step else colour,
        markeredgecolor=colour if look.is_step else paper,
        markeredgewidth=1 if look.is_step else 0.4,
        markevery=1 if points else -(-len(line.x) // _MOST_MARKERS) or 1,
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
    """Draw one legend above all panels: lines, then marks. Returns the pixels that it takes."""
    from matplotlib.lines import Line2D

    drawn = [line for axes in canvas.axes for line in axes.lines if line.get_label() in ink.looks]
    keys: dict[str, dict[Any, Any]] = {}  # lines of one name are shown over each other
    for line in drawn:
        keys.setdefault(line.get_label(), {})[line.get_linestyle()] = line
    for name in figure.mark_names():
        key = Line2D([], [], color=ink.page["quiet"], **_mark_style(figure, name))
        keys.setdefault(name, {})["mark"] = key
    if not keys:
        return 0
    widths = [_KEY_WIDTH + _LETTER * len(name) for name in keys]
    columns = len(keys) if sum(widths) <= _WIDTH else max(1, int(_WIDTH / max(widths)))
    # matplotlib fills columns from top to bottom; people read rows
    order = [name for first in range(columns) for name in list(keys)[first::columns]]
    handles = [tuple(keys[name].values()) for name in order]
    canvas.legend(handles, order, loc="outside upper left", ncols=columns)
    return _KEY_HEIGHT * -(-len(keys) // columns)


def _move_apart(texts: Sequence[Any]) -> None:
    """Move the values of marks up, and where that is too high down, until none overlap."""
    if not texts:
        return
    axes = texts[0].axes
    points = _POINTS / axes.figure.dpi
    heights = [float(axes.transData.transform((1, t.xy[1]))[1]) * points for t in texts]
    order = sorted(range(len(texts)), key=heights.__getitem__)
    places, last = dict(enumerate(heights)), -math.inf
    for i in order:
        last = places[i] = max(heights[i], last + _MARK_GAP)
    last = axes.get_window_extent().y1 * points + _MARK_GAP
    for i in reversed(order):
        last = places[i] = min(places[i], last - _MARK_GAP)
        texts[i].xyann = (texts[i].xyann[0], places[i] - heights[i])
