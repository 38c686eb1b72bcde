"""Report on a file of rows: its statistics, and the hashing that they suggest."""

import math
from pathlib import Path

from .._core.escaping import count
from ..files.surveys import Histogram, Survey
from .layout import Figure, Line, Panel, Report, Section, Table, named_file

_MOST_CLASSES = 20


def survey_report(survey: Survey, source: str, options: str = "") -> Report:
    """A report on the rows of a file: statistics, suggested hashing, memory.

    Parameters
    ----------
    survey : Survey
        From `files.survey`.
    source : str
        The file.
    options : str
        How it is read, for the command to run next: options of the command line.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5, 0, 1], [2, 0, 1, 0]])
    >>> result = ck.files.survey(ck.files.open_reader("rows.svm"))
    >>> page = ck.report.survey_report(result, "rows.svm")
    >>> page.title, [section.title for section in page.sections]
    ('Rows of rows.svm', ['What to run next', 'The rows', 'The labels', 'Memory and error'])
    """
    sections = [_next(survey, named_file(source, options)), _rows(survey)]
    if survey.classes:
        sections.append(_classes(survey.classes))
    sections.append(_error(survey))
    return Report(f"Rows of {Path(source).name}", _lead(survey), sections)


def _lead(survey: Survey) -> list[str]:
    plan = survey.plan
    n_bits = "all" if plan.n_bits is None else plan.n_bits
    return [
        f"{survey.rows:,} rows with {count(survey.columns)} columns, {survey.density:.2%} of whose "
        f"values are not 0. Hash them with the kernel {plan.kernel}, {plan.n_hashes:,} hashes and "
        f"{n_bits} bits: {survey.reason}.",
        f"Estimated kernel values of close pairs are then within {plan.error:.2g} of the exact "
        f"ones, {plan.confidence:.0%} of the time.",
    ]


def _rows(survey: Survey) -> Section:
    lengths = survey.row_lengths
    rows: list[list[str | None]] = [
        ["rows", f"{survey.rows:,}"],
        ["rows without nonzeros", f"{survey.empty_rows:,}"],
        ["columns", count(survey.columns)],
        ["nonzeros", f"{survey.nonzeros:,}"],
        ["nonzeros per row, median", f"{lengths['median']:,.0f}"],
        ["nonzeros per row, mean", f"{lengths['mean']:,.1f}"],
        ["nonzeros per row, most", f"{lengths['max']:,.0f}"],
        ["least value", None if math.isnan(survey.least) else f"{survey.least:.4g}"],
        ["greatest value", None if math.isnan(survey.greatest) else f"{survey.greatest:.4g}"],
        ["heaviness", f"{survey.heaviness:.3g}"],
    ]
    table = Table("The rows in numbers.", ["", "value"], rows)
    notes = [
        "Heaviness says how unequal the values of a row are: 1 if all are equal, about 2 for "
        "TF-IDF, hundreds for raw counts.",
        "The values are those of a sample of rows.",
    ]
    figure = rows_figure(
        survey.length_histogram, survey.value_histogram, "How many nonzeros rows have, and their "
        "values.",
    )  # fmt: skip
    return Section("rows", "The rows", [], [table], [figure], notes)


def _classes(classes: dict[object, int]) -> Section:
    total, largest = sum(classes.values()), sorted(classes.items(), key=lambda item: -item[1])
    rows = [
        [str(label), f"{count:,}", f"{count / total:.1%}"]
        for label, count in largest[:_MOST_CLASSES]
    ]
    title = "Rows per class."
    if len(classes) > _MOST_CLASSES:
        title = f"Rows of the {_MOST_CLASSES} largest of {len(classes):,} classes."
    return Section("classes", "The labels", [], [Table(title, ["class", "rows", "share"], rows)])


def _error(survey: Survey) -> Section:
    plan = survey.plan
    text = f"The signatures of all rows take {(plan.n_bytes or 0) / 1e6:,.3g} MB."
    sizes = [64, 256, 1024, 4096, 16384]
    errors = [plan.error * (plan.n_hashes / size) ** 0.5 for size in sizes]
    line = Line("error", sizes, errors)
    panel = Panel("Error of estimates", "hashes", "error", [line], log_x=True, log_y=True)
    figure = Figure(
        "error", "Four times as many hashes halve the error, and take four times the memory.",
        "A falling curve of the error over the number of hashes.", [panel],
    )  # fmt: skip
    return Section("error", "Memory and error", [text], figures=[figure])


def _next(survey: Survey, file: str) -> Section:
    plan, text = survey.plan, []
    bits = "" if plan.n_bits is None else f" --n-bits {plan.n_bits}"
    if survey.classes:
        text = [f"Whether that helps to learn the labels: `corekernels advise {file}`."]
    command = (
        f"corekernels hash {file} rows.sig --kernel {plan.kernel} --n-hashes {plan.n_hashes}{bits}"
    )
    return Section("next", "What to run next", text, command=command, command_label="Run")


def rows_figure(lengths: Histogram, values: Histogram, caption: str) -> Figure:
    """Histograms of the nonzeros per row and of the nonzero values."""
    panels = [
        _histogram_panel("Nonzeros per row", "nonzeros", "rows", lengths),
        _histogram_panel("Values", "nonzero value", "values", values),
    ]
    alt = "Two histograms: how many nonzeros rows have, and which values these have."
    return Figure("rows", caption, alt, panels)


def _histogram_panel(title: str, x_label: str, y_label: str, histogram: Histogram) -> Panel:
    counts = [float(count) for count in histogram.counts]
    line = Line(y_label, histogram.edges, counts, style="bars")
    return Panel(title, x_label, y_label, [line], log_x=histogram.log)
