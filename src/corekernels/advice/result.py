"""The result of `advise`, and how it reads."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .code import code_of


class Kind(NamedTuple):
    """A kind of candidates."""

    is_core: bool  # whether it needs this package
    growth: int = 1  # the power of the number of rows that the time of a fit grows with


# From cheap to expensive for many rows, whatever the clock said of the sample: the advice must not
# depend on what else runs. Those whose time grows with the square of the rows cost alike.
KINDS = {
    "linear": Kind(False),
    "hashed": Kind(True),
    "both": Kind(True),
    "fourier": Kind(False),
    "boosting": Kind(False),
    "gaussian": Kind(False, 2),
    "exact": Kind(True, 2),
}


@dataclass(frozen=True)
class Candidate:
    """One way to learn, cross-validated.

    Attributes
    ----------
    name : str
        As in "core1, exact" or "core1, 1024 hashes". Where time was too short for all rows, it
        says from how many rows it learned.
    kind : {"linear", "exact", "hashed", "both", "gaussian", "fourier", "boosting"}
        "both" is linear and hashed features side by side.
    estimator : estimator
        The unfitted scikit-learn pipeline that gave the figures, with the best of the few settings
        that were tried.
    score, margin : float
        Mean over the folds, and half of its 95 % interval.
    gain, gain_margin : float
        Score above that of the linear model, fold by fold, and half of its 95 % interval.
    seconds : float
        Of one fit with its test; of Gaussian SVMs from the matrix of the kernel.
    """

    name: str
    kind: str
    estimator: Any
    score: float
    margin: float
    gain: float
    gain_margin: float
    seconds: float

    @property
    def is_core(self) -> bool:
        """Whether it needs this package."""
        return KINDS[self.kind].is_core

    @property
    def code(self) -> str:
        """The lines of Python that make the estimator."""
        return code_of(self.estimator)


@dataclass(frozen=True)
class Confusion:
    """Rows of one class that are taken for another, by cross-validation."""

    actual: Any  # label
    predicted: Any  # label
    count: int  # rows so confused
    n_rows: int  # of the class in the sample


@dataclass(frozen=True)
class Advice:
    """What `advise` advises. Printed, it is a table, the sentence and the code to paste.

    Attributes
    ----------
    candidates : tuple of Candidate
        The linear model first.
    best : Candidate
        What to use: the cheapest that is as good as the best, within its error.
    verdict : {"core", "other", "close"}
        "core" if the best with a CoRE kernel is clearly better than all without, "other" if it is
        the other way round, "close" if the difference may be chance.
    sentence : str
        What to do and what to expect of it.
    metric : {"accuracy", "R²"}
        What scores are.
    n_rows, n_classes, n_folds : int
        What it rests on; no classes in regression; folds of all rounds.
    notes : tuple of str
        What was left out, or tried on less.
    confused : tuple of Confusion
        The classes that `best` confuses most, in one round of folds.
    """

    candidates: tuple[Candidate, ...]
    best: Candidate
    verdict: str
    sentence: str
    metric: str
    n_rows: int
    n_classes: int
    n_folds: int
    notes: tuple[str, ...]
    confused: tuple[Confusion, ...] = ()

    @property
    def helps(self) -> bool:
        """Whether CoRE kernels are clearly better than all else that was tried."""
        return self.verdict == "core"

    @property
    def unit(self) -> int:
        """The number that a score of 1 is shown as: 100 for accuracies, which are percentages."""
        return 100 if self.metric == "accuracy" else 1

    def _number(self, score: float, sign: str = "") -> str:
        return f"{self.unit * score:{sign}.{1 if self.unit == 100 else 3}f}"

    def percent(self, score: float) -> str:
        """A score in words."""
        return self._number(score) + ("%" if self.unit == 100 else "")

    def points(self, difference: float, margin: float) -> str:
        """A difference of scores and its margin in words."""
        unit = " points" if self.unit == 100 else ""
        return f"{self._number(abs(difference))} ± {self._number(margin)}{unit}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of the candidates, the best score first, as a table of texts."""
        rows = [
            [c.name, self.percent(c.score), f"± {self._number(c.margin)}",
             self._number(c.gain, "+"), f"± {self._number(c.gain_margin)}", f"{c.seconds:.2g}"]
            for c in sorted(self.candidates, key=lambda c: -c.score)
        ]  # fmt: skip
        return ["", self.metric, "", "over linear", "", "seconds"], rows

    def __str__(self) -> str:
        headings, rows = self.table()
        first, *widths = (max(map(len, column)) for column in zip(headings, *rows, strict=True))
        lines = []
        for name, *cells in [headings, *rows]:
            columns = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
            lines.append("  ".join([name.ljust(first), *columns]).rstrip())
        return "\n".join([*lines, "", *self.notes, self.sentence, "", self.best.code])

    __repr__ = __str__
