"""A report with invented numbers, in which everything occurs that a report can have."""

import numpy as np

from corekernels.report.layout import Figure, Interval, Line, Mark, Panel, Report, Section, Table

METHODS = ("linear", "linear, binarised", "resemblance", "CoRE 1", "CoRE 2")
DATA = {
    "Covertype": (71.5, 66.5, 80.4, 82.7, 80.7),
    "Rand <noise> & more": (70.5, 58.2, 78.9, 84.5, 80.1),
}
SIGN = """<b>&amp;"quoted"'</b>"""


def sample_report() -> Report:
    """Three sections: a wide table, small multiples, and many lines with long notes."""
    k = 2.0 ** np.arange(4, 13)
    rows = [
        [name, *(cell for value in values for cell in (f"{value}", f"{value - 1.3:.1f}", "-1.3"))]
        for name, values in DATA.items()
    ]
    rows[0][3], rows[1][1:4] = "+0.3", [None, "-1.003", "+0.0"]
    table = Table(
        "Accuracies, %; the learner is `LinearSVC`.",
        ["data set", *["paper", "ours", "difference"] * 5], rows,
        [("", 1), *((name, 3) for name in METHODS)],
    )  # fmt: skip
    curves = [Line(name, k, 95 - 90 / k - i) for i, name in enumerate(METHODS)]
    marks = [Mark("paper", 94.5, "linear"), Mark("exact kernel", 94.6)]
    panels = [Panel(name, "k", "accuracy, %", curves, marks, log_x=True) for name in DATA]
    accuracies = Figure("accuracies", f"Accuracy {SIGN}", "Rising curves.", panels, same_y=True)
    errors = [
        Line("CoRE 1", k, 0.3 / k, style="dashed"),
        Line("CoRE 1", k, 0.31 / k, 0.28 / k, 0.34 / k, style="points"),
        *(Line(f"k = {n}", k, n / k) for n in (64, 128, 256)),
    ]
    counts = [Line("rows", [0, 1, 2, 4], [3, 9, 1], style="bars")]
    bars = [
        Interval("CoRE 1, a name that is long", 90, 88, 92, True),
        Interval("other", 80, 70, 90),
    ]
    figures = [
        Figure(
            "errors", "Errors.", "Falling.", [Panel("", "k", "", errors, log_x=True, log_y=True)]
        ),
        Figure("counts", "Counts.", "Bars.", [Panel("Rows", "nonzeros", "rows", counts)]),
        Figure("intervals", "Intervals.", "Dots.", [Panel("95 %", "%", "", intervals=bars)]),
    ]
    note = "A_very_long_word_without_any_place_to_break_it_such_as_a_path_or_an_address_in_a_note."
    sections = [
        Section(
            "one", "Wide", ["Text."], [table], [accuracies], [note],
            seconds=75.2, code=f"fit({SIGN})", command="train --C 1",
        ),
        Section("two", SIGN, [SIGN, f"`{SIGN}`"], [], figures, seconds=0.2, command="x" * 80),
    ]  # fmt: skip
    return Report("Sample", ["Lead."], sections, {"seed": "0"}, METHODS)
