"""What rows are like, as a figure: nonzeros per row, and values."""

from ..files import Histogram
from .layout import Figure, Line, Panel


def rows_figure(lengths: Histogram, values: Histogram, caption: str) -> Figure:
    """Histograms of the nonzeros per row and of the nonzero values."""
    panels = [
        _panel("Nonzeros per row", "nonzeros", "rows", lengths),
        _panel("Values", "nonzero value", "values", values),
    ]
    alt = "Two histograms: how many nonzeros rows have, and which values these have."
    return Figure("rows", caption, alt, panels)


def _panel(title: str, x_label: str, y_label: str, histogram: Histogram) -> Panel:
    counts = [float(count) for count in histogram.counts]
    line = Line(y_label, histogram.edges, counts, style="bars")
    return Panel(title, x_label, y_label, [line], log_x=histogram.log)
