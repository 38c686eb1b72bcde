"""Panels as SVG, drawn by matplotlib, which comes with the extra `plot`.

Colours and fonts are left to the page: it decides between light and dark. Each panel is an
SVG of its own, so that a phone can stack what a wide screen shows side by side.
"""

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ParameterError
from .layout import Figure, Line, Mark, Panel
from .palette import Look
from .placing import (
    SIZES,
    Size,
    apart,
    finite,
    margins,
    mark_texts,
    n_columns,
    place,
    title_lines,
)
from .svg import figure_file, legend, stand_in, tidy
from .ticks import set_ticks

_STYLES: dict[str, Any] = {
    "solid": "solid",
    "dashed": (0, (4, 2.2)),
    "dotted": (0, (1, 1.6)),
    "points": "none",
}
_MOST_MARKERS = 12


def draw_panels(figure: Figure, looks: Mapping[str, Look]) -> list[str]:
    """Each panel of a figure as an inline `<svg>`, in colours that the page decides."""
    if not figure.panels:
        raise ParameterError(f"{figure.name}: a figure without panels; leave it out.")
    require_matplotlib()
    size = SIZES[n_columns(figure)]
    axes = [_draw(panel, looks, size) for panel in figure.panels]
    if figure.same_y:
        _share_y(axes)
    for panel, one in zip(figure.panels, axes, strict=True):
        set_ticks(one.xaxis, _xs(panel), 6)
        set_ticks(one.yaxis, _ys(panel), 5)
    around = margins(figure.panels, axes, size)
    drawn = []
    for i, (panel, one) in enumerate(zip(figure.panels, axes, strict=True)):
        place(one, size, around)
        _label_marks(one, finite(panel.marks), looks, size)
        title = f"{panel.title}: {panel.y_label} against {panel.x_label}".removeprefix(": ")
        label = figure.alt if len(axes) == 1 else title
        drawn.append(tidy(_svg_text(one.figure), f"{figure.name}-{i + 1}", title, label))
    return drawn


def draw_file(figure: Figure, looks: Mapping[str, Look]) -> str:
    """A whole figure as the text of an SVG file, in light colours."""
    keys = legend(figure, looks)
    return figure_file(figure, draw_panels(figure, looks), n_columns(figure), keys)


def require_matplotlib() -> None:
    """Raise unless figures can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise ParameterError(
            "plot: figures need matplotlib; install it with: pip install 'corekernels[plot]'"
        ) from None


def _xs(panel: Panel) -> list[float]:
    return [x for line in panel.lines for x in line.x]


def _ys(panel: Panel) -> list[float]:
    return [y for line in panel.lines for y in line.y]


def _draw(panel: Panel, looks: Mapping[str, Look], size: Size) -> Any:
    """Axes with everything but the labels of the marks, which need the final place."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context({"text.parse_math": False, "font.family": "DejaVu Sans"}):
        canvas = Canvas(figsize=(size.width / 72, size.height / 72), dpi=72)
        axes = canvas.add_axes((0.1, 0.1, 0.8, 0.8))
        axes.set_facecolor("none")
        canvas.patch.set_visible(False)
        axes.margins(x=0.03, y=0.06)
        axes.set_xscale("log" if panel.log_x and any(x > 0 for x in _xs(panel)) else "linear")
        axes.set_yscale("log" if panel.log_y and any(y > 0 for y in _ys(panel)) else "linear")
        styles: dict[str, set[str]] = {}
        for line in panel.lines:
            styles.setdefault(line.name, set()).add(line.style)
        for line in panel.lines:
            _draw_line(axes, line, looks[line.name], alone=len(styles[line.name]) == 1)
        for mark in finite(panel.marks):
            colour = stand_in(looks[mark.of].colour if mark.of is not None else "quiet")
            axes.axhline(mark.y, color=colour, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1.5)
        _set_style(axes, panel, size)
    return axes


def _draw_line(axes: Any, line: Line, look: Look, alone: bool) -> None:
    if line.style not in _STYLES:
        raise ParameterError(f"{line.name}: style {line.style!r}; give one of {list(_STYLES)}.")
    colour = stand_in(look.colour)
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.16, linewidth=0)
    # where a name has a curve and points, only the points carry the marker
    marked = alone or line.style == "points"
    axes.plot(
        line.x,
        line.y,
        color=colour,
        linestyle=_STYLES[line.style],
        linewidth=1.7,
        solid_capstyle="round",
        solid_joinstyle="round",
        marker=look.marker if marked else "none",
        markersize=5.6 * max(abs(at) for corner in look.marker for at in corner),
        markeredgecolor=stand_in("paper"),
        markeredgewidth=0.5,
        markevery=1 if line.style == "points" else -(-len(line.x) // _MOST_MARKERS) or 1,
    )


def _share_y(axes: Sequence[Any]) -> None:
    """One range of y for all axes that show something, those of each scale together."""
    for scale in ("linear", "log"):
        group = [one for one in axes if one.has_data() and one.get_yscale() == scale]
        limits = [one.get_ylim() for one in group]
        for one in group:
            one.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _set_style(axes: Any, panel: Panel, size: Size) -> None:
    ink, quiet, rule, axis = (stand_in(name) for name in ("ink", "quiet", "rule", "axis"))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(axis)
    axes.grid(axis="y", color=rule, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=axis, labelcolor=quiet, labelsize=size.font, pad=4)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", length=3.5)
    axes.set_xlabel(panel.x_label, color=quiet, fontsize=size.font, labelpad=4)
    title = "\n".join(title_lines(panel, size))
    for text, lift, look in (
        (title, size.font + 15, {"color": ink, "fontsize": size.title, "fontweight": "bold"}),
        (panel.y_label, 10, {"color": quiet, "fontsize": size.font}),
    ):
        # over the axes at the very left, where it is read first and needs no turned head
        axes.annotate(text, (0, 1), (0, lift), "axes fraction", "offset points", **look)


def _label_marks(axes: Any, marks: Sequence[Mark], looks: Mapping[str, Look], size: Size) -> None:
    """The values of the marks, to the right of the axes, moved apart where they would overlap."""
    box = axes.get_window_extent()
    wanted = [float(axes.transData.transform((1, mark.y))[1]) - box.y0 for mark in marks]
    heights = apart(wanted, size.font + 0.5, box.height)
    for mark, text, height in zip(marks, mark_texts(marks), heights, strict=True):
        axes.annotate(
            text,
            (1, 0),
            (6, height),
            "axes fraction",
            "offset points",
            va="center",
            color=stand_in(looks[mark.of].text if mark.of is not None else "quiet"),
            fontsize=size.font - 0.5,
        )


def _svg_text(canvas: Any) -> str:
    import matplotlib

    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "corekernels"}
    file = io.StringIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # letters that matplotlib's font lacks are the reader's font's business
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        canvas.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
