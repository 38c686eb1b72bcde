"""Report on the result of `advise`: verdict, accuracies, costs, and the next command."""

from pathlib import Path
from typing import Any

import numpy as np

from ..advice import Advice
from ..advice.result import KINDS
from ..classifier import CoREClassifier
from ..files.surveys import Histogram
from .layout import Figure, Interval, Panel, Report, Section, Table, duration, named_file
from .survey import rows_figure

_GROWTH = (1, 10, 100)  # times the rows of the sample


def advice_report(advice: Advice, X: Any, source: str, options: str = "") -> Report:
    """A report on the result of `advise`.

    Parameters
    ----------
    advice : Advice
    X : sparse matrix
        The rows, or a sample of them.
    source, options : str
        As for `survey_report`.

    Examples
    --------
    >>> import corekernels as ck
    >>> from scipy import sparse
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> advice = ck.advise(X, y, n_rows=100, sizes=[64], cv=2, repeats=1, time_limit=1)
    >>> ck.report.advice_report(advice, sparse.csr_array(X[:100]), "digits.svm").title
    'Does CoRE help on digits.svm?'
    """
    sections = [_next(advice, named_file(source, options)), _scores(advice)]
    if advice.confused:
        sections.append(_confusions(advice))
    sections += [_costs(advice), _rows(X)]
    return Report(f"Does CoRE help on {Path(source).name}?", _lead(advice), sections)


def _lead(advice: Advice) -> list[str]:
    answer = {
        "core": "Yes: CoRE kernels are clearly better than all else that was tried.",
        "other": "No: something else is clearly better.",
        "close": "It makes no clear difference: take the cheaper one.",
    }[advice.verdict]
    of_classes = f" of {advice.n_classes:,} classes" if advice.n_classes else ""
    return [
        answer,
        advice.sentence,
        f"By cross-validation on {advice.n_rows:,} rows{of_classes}, at most "
        f"{advice.n_folds} fits per candidate.",
    ]


def advice_figure(advice: Advice) -> Figure:
    """The score of each candidate with its 95 % interval, the best first."""
    unit, label = advice.unit, advice.metric + (", %" if advice.unit == 100 else "")
    intervals = [
        Interval(
            candidate.name,
            unit * candidate.score,
            unit * max(0.0, candidate.score - candidate.margin),
            unit * min(1.0, candidate.score + candidate.margin),
            candidate is advice.best,
        )
        for candidate in sorted(advice.candidates, key=lambda candidate: -candidate.score)
    ]
    panel = Panel(f"{label} with 95 % intervals", label, "", intervals=intervals)
    return Figure(
        "scores", "The advised candidate stands out.",
        "A dot with an interval for the score of each candidate, the best first.",
        [panel],
    )  # fmt: skip


def _scores(advice: Advice) -> Section:
    headings, rows = advice.table()
    caption = f"Scores ({advice.metric}) and gain over the linear model, with 95 % intervals."
    table = Table(caption, ["candidate", *headings[1:-1]], [row[:-1] for row in rows])
    return Section("scores", "Scores", [], [table], [advice_figure(advice)], advice.notes)


def _confusions(advice: Advice) -> Section:
    rows = [
        [
            str(confusion.actual),
            str(confusion.predicted),
            f"{confusion.count:,}",
            f"{confusion.count / confusion.n_rows:.1%}",
        ]
        for confusion in advice.confused
    ]
    table = Table(
        f"Rows of a class that {advice.best.name} takes for another.",
        ["class", "taken for", "rows", "share of the class"], rows,
    )  # fmt: skip
    return Section("confused", "The most confused classes", [], [table])


def _costs(advice: Advice) -> Section:
    rows = [
        [candidate.name]
        + [
            duration(candidate.seconds * factor ** KINDS[candidate.kind].growth, fine=True)
            for factor in _GROWTH
        ]
        for candidate in advice.candidates
    ]
    sizes = [f"{factor * advice.n_rows:,} rows" for factor in _GROWTH]
    note = (
        "The first column was measured, the others are extrapolated: in proportion to the "
        "rows, or to their square for exact kernels and the Gaussian SVM."
    )
    return Section(
        "cost", "Time", [], [Table("Time of one fit.", ["candidate", *sizes], rows)], notes=[note]
    )


def _rows(X: Any) -> Section:
    lengths = np.diff(X.indptr)
    density = X.nnz / max(1, X.shape[0] * X.shape[1])
    text = [f"{X.shape[0]:,} rows, {X.shape[1]:,} columns, {density:.2%} of the values are not 0."]
    figure = rows_figure(
        Histogram.of(lengths), Histogram.of(X.data[X.data != 0]),
        "Nonzeros per row and values, in the rows that were read.",
    )  # fmt: skip
    return Section("rows", "The rows", text, figures=[figure])


def _next(advice: Advice, file: str) -> Section:
    """The code to paste, and the command that does the same where there is one."""
    model = advice.best.estimator[-1]
    command = None
    if isinstance(model, CoREClassifier) and len(advice.best.estimator) == 1:
        gamma = "" if model.gamma is None else f" --gamma {model.gamma:g}"
        command = (
            f"corekernels train {file} model.ck --kernel {model.kernel}{gamma} "
            f"--n-hashes {model.n_hashes} --C {model.C:g}"
        )
    return Section(
        "next", f"What to use: {advice.best.name}", code=advice.best.code, command=command,
        command_label="Or run",
    )  # fmt: skip
