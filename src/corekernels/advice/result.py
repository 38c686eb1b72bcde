"""What `advise` found, and how it reads."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Candidate:
    """One way to learn, cross-validated.

    Attributes
    ----------
    name : str
        As in "core1, exact" or "core1, 1024 hashes".
    kind : {"linear", "exact", "hashed", "both", "gaussian", "fourier", "boosting"}
        "both" is linear and hashed features side by side.
    kernel : str or None
    n_hashes : int or None
    C, gamma : float or None
        The best of the few that were tried.
    accuracy, margin : float
        Mean over the folds, and half of its 95 % interval.
    gain, gain_margin : float
        Accuracy above that of the linear model, fold by fold, and half of its 95 % interval.
    seconds : float
        Of one fit with its test, kernel values or hashing included.
    n_bytes : float
        Memory that training on the sample takes besides its rows, about.
    """

    name: str
    kind: str
    kernel: str | None
    n_hashes: int | None
    C: float | None
    gamma: float | None
    accuracy: float
    margin: float
    gain: float
    gain_margin: float
    seconds: float
    n_bytes: float

    @property
    def is_core(self) -> bool:
        """Whether it needs this package."""
        return self.kind in ("exact", "hashed", "both")

    @property
    def settings(self) -> str:
        """C and gamma, as far as it has them."""
        pairs = {"C": self.C, "gamma": self.gamma}.items()
        return ", ".join(f"{name}={value:g}" for name, value in pairs if value is not None)

    @property
    def cost(self) -> str:
        """Time and memory of one fit in words, and how they grow."""
        growth = "the square of the rows" if self.kind in ("exact", "gaussian") else "the rows"
        n_megabytes = max(1, round(self.n_bytes / 1e6))
        return f"{self.seconds:.2g} s and {n_megabytes:,} MB, growing with {growth}"


@dataclass(frozen=True)
class Confusion:
    """Rows of one class that are taken for another, by cross-validation."""

    actual: Any  # label
    predicted: Any  # label
    count: int  # rows so confused
    n_rows: int  # of the class in the sample


@dataclass(frozen=True)
class Advice:
    """What `advise` found. Printed, it is a table and the sentence.

    Attributes
    ----------
    candidates : tuple of Candidate
        The linear model first.
    best : Candidate
        What to use, as the sentence says.
    verdict : {"core", "other", "close"}
        "core" if a candidate with a CoRE kernel is clearly better than all without, "other" if
        it is the other way round, "close" if the difference may be chance: then `best` is the
        cheaper one.
    sentence : str
        What to do and what to expect of it.
    n_rows, n_classes, n_folds : int
        What it rests on; folds of all rounds.
    notes : tuple of str
        What was left out.
    confused : tuple of Confusion
        The classes that `best` confuses most, in one round of folds.
    """

    candidates: tuple[Candidate, ...]
    best: Candidate
    verdict: str
    sentence: str
    n_rows: int
    n_classes: int
    n_folds: int
    notes: tuple[str, ...]
    confused: tuple[Confusion, ...] = ()

    @property
    def helps(self) -> bool:
        """Whether CoRE kernels are clearly better than all else that was tried."""
        return self.verdict == "core"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of the candidates as a table of texts."""
        rows = [
            [c.name, f"{c.accuracy:.1%}", f"± {100 * c.margin:.1f}", f"{100 * c.gain:+.1f}",
             f"± {100 * c.gain_margin:.1f}", c.settings, f"{c.seconds:.2g}",
             f"{c.n_bytes / 1e6:.0f}"]
            for c in self.candidates
        ]  # fmt: skip
        return ["", "accuracy", "", "gain, points", "", "settings", "seconds", "MB"], rows

    def __str__(self) -> str:
        headings, rows = self.table()
        widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
        lines = []
        for row in [headings, *rows]:
            first, *others = (
                cell.ljust(width) if place in (0, 5) else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            lines.append("  ".join([first, *others]).rstrip())
        return "\n".join([*lines, "", *self.notes, self.sentence])

    __repr__ = __str__
