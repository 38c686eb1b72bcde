"""Report on the result of `advise`: verdict, accuracies, costs, and the next command."""

from pathlib import Path
from typing import Any

import numpy as np

from ..advice import Advice, Candidate
from ..files import Histogram
from .layout import Figure, Interval, Panel, Report, Section, Table, duration, named_file
from .survey import rows_figure

_GROWTH = (1, 10, 100)  # times the rows of the sample
_MANY_HASHES = 8192
_SQUARED = ("exact", "gaussian")  # kinds whose cost grows with the square of the rows


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
    sections = [_next(advice, named_file(source, options)), _accuracies(advice)]
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
    return [
        answer,
        advice.sentence,
        f"By cross-validation on {advice.n_rows:,} rows of {advice.n_classes:,} classes, "
        f"{advice.n_folds} fits per candidate.",
    ]


def advice_figure(advice: Advice) -> Figure:
    """The accuracy of each candidate with its 95 % interval, the most accurate first."""
    intervals = [_interval(candidate, advice) for candidate in _ranked(advice)]
    panel = Panel("Accuracy with 95 % intervals", "accuracy, %", "", intervals=intervals)
    return Figure(
        "accuracy", "The advised candidate stands out.",
        "A dot with an interval for the accuracy of each candidate, the most accurate first.",
        [panel],
    )  # fmt: skip


def _ranked(advice: Advice) -> list[Candidate]:
    return sorted(advice.candidates, key=lambda candidate: -candidate.accuracy)


def _accuracies(advice: Advice) -> Section:
    rows = [
        [c.name, f"{100 * c.accuracy:.1f}", f"± {100 * c.margin:.1f}", f"{100 * c.gain:+.1f}",
         f"± {100 * c.gain_margin:.1f}", c.settings]
        for c in _ranked(advice)
    ]  # fmt: skip
    table = Table(
        "Accuracy and gain over the linear model, in %, with 95 % intervals.",
        ["candidate", "accuracy", "interval", "gain", "interval", "settings"], rows,
    )  # fmt: skip
    return Section("accuracy", "Accuracy", [], [table], [advice_figure(advice)], advice.notes)


def _interval(candidate: Candidate, advice: Advice) -> Interval:
    low = max(0.0, candidate.accuracy - candidate.margin)
    high = min(1.0, candidate.accuracy + candidate.margin)
    stands_out = candidate is advice.best
    return Interval(candidate.name, 100 * candidate.accuracy, 100 * low, 100 * high, stands_out)


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
    rows = [[c.name, *_forecast(c)] for c in advice.candidates]
    sizes = [f"{factor * advice.n_rows:,} rows" for factor in _GROWTH]
    columns = ["candidate", *(name for _ in sizes for name in ("time", "MB"))]
    groups = [("", 1), *((size, 2) for size in sizes)]
    table = Table("Time and memory of one fit.", columns, rows, groups)
    note = (
        "The first pair of columns was measured, the others are extrapolated: in proportion to the "
        "rows, or to their square for exact kernels and the Gaussian SVM."
    )
    return Section("cost", "Time and memory", [], [table], notes=[note])


def _forecast(candidate: Candidate) -> list[str]:
    power = 2 if candidate.kind in _SQUARED else 1
    cells = []
    for factor in _GROWTH:
        growth = factor**power
        n_megabytes = max(1.0, candidate.n_bytes / 1e6) * growth
        cells += [duration(candidate.seconds * growth, fine=True), f"{n_megabytes:,.0f}"]
    return cells


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
    best = advice.best
    gamma = "" if best.gamma is None else f" --gamma {best.gamma:g}"
    kernel, title = f"--kernel {best.kernel}{gamma}", "What to run next"
    if best.kind == "hashed":
        options = f"{kernel} --n-hashes {best.n_hashes} --C {best.C:g}"
        command = f"corekernels train {file} model.ck {options}"
        return Section("next", title, command=command, command_label="Run")
    if best.kind in ("exact", "both"):
        text = "The accuracy of the exact kernel is approached with more hashes."
        command = f"corekernels path {file} {kernel} --n-hashes {_MANY_HASHES} --page path.html"
        return Section("next", title, [text], command=command, command_label="Run")
    settings = f": {best.settings}" if best.settings else ""
    text = f"In scikit-learn, on rows of length one, {_SKLEARN[best.kind]}{settings}."
    return Section("next", title, [text])


_SKLEARN = {
    "linear": "`LinearSVC`",
    "gaussian": "`SVC` with the kernel `rbf` of half that gamma",
    "fourier": "`RBFSampler` of half that gamma and `LogisticRegression`",
    "boosting": "`HistGradientBoostingClassifier`",
}
