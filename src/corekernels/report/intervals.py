"""Panels of values with intervals: a name, a dot and a bar per line, the best at the top."""

import textwrap
from collections.abc import Mapping
from typing import Any

from .layout import Panel

_LINE_HEIGHT = 27  # pixels per interval
_FRAME = 95  # pixels of title and axis
_NAME_SHARE = 0.42  # of the width, that names may take
_LETTER = 6.2  # pixels


def panel_height(panel: Panel) -> int:
    """Pixels that the intervals of a panel need."""
    return _FRAME + _LINE_HEIGHT * len(panel.intervals)


def draw_intervals(axes: Any, panel: Panel, page: Mapping[str, str], width: float) -> None:
    """Draw the intervals of a panel; those that stand out in the accent colour and bold."""
    intervals = panel.intervals
    places = range(len(intervals))
    letters = int(_NAME_SHARE * width / _LETTER)
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
