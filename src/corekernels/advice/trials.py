"""Learners tried on the same folds, drawn several times, within a time limit.

Scores of repeated cross-validation are not independent, since training sets overlap. The variance
of their mean is corrected for it, by 1 / J + 1 / (folds - 1) in place of 1 / J for J folds in all
(Nadeau and Bengio, "Inference for the generalization error", 2003), and intervals use Student's t.
"""

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.metrics import accuracy_score, r2_score
from threadpoolctl import threadpool_limits

from .._core.arguments import Array
from .learners import Learner, Learners, with_kernel_matrix
from .result import KINDS

Fold = tuple[Array, Array]  # rows to learn from and rows to test on

_CONFIDENCE = 0.95
_PILOT_ROWS = 200  # that a first fit learns from, to see how long all will take
_FINALISTS = 2  # settings that go through all folds of the first round, at least
_HOPELESS = 0.1  # behind the best after a few folds: no further fold
_FEW_FOLDS = 2  # the fewest after which a learner is dropped
_FEWEST_ROWS = 50
_AHEAD = 2  # times its share that a learner may take, since most take less
_DEARER = 3  # times as long as the slowest setting so far that the next may take


@dataclass(eq=False)
class Trial:
    """A learner with its best settings, and what it reached."""

    learner: Learner
    pipeline: Any
    n_rows: int = 0  # that it learns from
    scores: list[float] = field(default_factory=list)  # on all folds so far
    seconds: float = 0.0  # of the last fit with its test
    predicted: list[Array] = field(default_factory=list)  # for the test rows of each fold

    @property
    def mean(self) -> float:
        """The mean score."""
        return float(np.mean(self.scores))


class Trials:
    """Trials of learners on a sample; `bar` shows which learner is being tried."""

    def __init__(
        self, learners: Learners, rounds: list[list[Fold]], time_limit: float, n_learners: int,
        bar: Any,
    ) -> None:  # fmt: skip
        self.learners, self.rounds, self.bar = learners, rounds, bar
        self.n_train = len(rounds[0][0][0])  # rows to learn from
        self.trials: list[Trial] = []
        self.notes: list[str] = []
        self._n_waiting = n_learners
        self._end = time.perf_counter() + time_limit

    @property
    def best(self) -> Trial:
        """The trial with the highest mean so far."""
        return max(self.trials, key=lambda trial: trial.mean)

    def try_out(self, learner: Learner) -> Trial | None:
        """The first round with the best settings; None if there is no time.

        Where one setting would take longer than the learner's share of the time that is left, it
        learns from fewer rows. The first learner is always tried.
        """
        self.bar.set_description(learner.name)
        self.bar.update()
        now = time.perf_counter()
        share = _AHEAD * (self._end - now) / max(_AHEAD, self._n_waiting)
        self._n_waiting -= 1
        n_rows = self._affordable_rows(learner, share) if share > 0 or not self.trials else 0
        if not n_rows:
            self.notes.append(f"no time for {learner.name}")
            return None
        if n_rows < self.n_train:
            self.notes.append(f"{learner.name} learned from {n_rows} rows only, for lack of time")
        trial = self._first_round(learner, n_rows, now + share)
        self.trials.append(trial)
        return trial

    def _affordable_rows(self, learner: Learner, seconds: float) -> int:
        """The most rows that the first setting can learn from in time; 0 if too few.

        In all folds for the first learner, in a few for others: with fewer folds the interval is
        wider, with fewer rows the score is lower. Timed with more and more rows: from few, what
        takes the same time for any number of rows counts too much.
        """
        n_folds = _FEW_FOLDS if self.trials else len(self.rounds[0])
        growth = KINDS[learner.kind].growth
        n_timed = n_rows = 0
        while n_timed <= n_rows // 2 and n_rows < self.n_train:
            n_timed = max(n_rows, _PILOT_ROWS)
            begin = time.perf_counter()
            self._fit_and_score(learner.pipelines[0], self.rounds[0][0], n_timed)
            elapsed = time.perf_counter() - begin
            n_rows = affordable_rows(seconds / n_folds, elapsed, n_timed, self.n_train, growth)
        fewest = min(_FEWEST_ROWS, self.n_train)
        return n_rows if n_rows >= fewest else 0 if self.trials else fewest

    def _first_round(self, learner: Learner, n_rows: int, end: float) -> Trial:
        """The best setting on the folds of the first round, until `end`.

        After each fold the better half of the settings goes on.
        """
        folds = self.rounds[0]
        running = self._first_fold(learner, n_rows, end)
        for n_done in range(1, len(folds)):
            if n_done >= _FEW_FOLDS and self.trials:
                leader = float(np.mean(self.best.scores[:n_done]))
                if max(trial.mean for trial in running) < leader - _HOPELESS:
                    self.notes.append(f"{learner.name} was far behind after {n_done} folds")
                    break
                if time.perf_counter() > end:
                    self.notes.append(f"{learner.name} had time for {n_done} folds only")
                    break
            running = _better_half(running, len(folds) - n_done, end - time.perf_counter())
            for trial in running:
                self._add_fold(trial, folds[n_done])
        return max(running, key=lambda trial: trial.mean)

    def _first_fold(self, learner: Learner, n_rows: int, end: float) -> list[Trial]:
        """The settings on the first fold: all for which half of the time is enough."""
        middle = (time.perf_counter() + end) / 2
        trials: list[Trial] = []
        for pipeline in learner.pipelines:
            slowest = max((trial.seconds for trial in trials), default=0)
            if trials and time.perf_counter() + _DEARER * slowest > middle:
                tried = f"{len(trials)} of {len(learner.pipelines)} settings"
                self.notes.append(f"{learner.name} was tried with {tried}, for lack of time")
                break
            trials.append(Trial(learner, pipeline, n_rows))
            self._add_fold(trials[-1], self.rounds[0][0])
        return trials

    def repeat(self) -> None:
        """The other rounds for all trials that may be the best, while there is time."""
        for number, folds in enumerate(self.rounds[1:], 1):
            contenders = [trial for trial in self.trials if self._may_be_best(trial)]
            needed = sum(trial.seconds * len(folds) for trial in contenders)
            if time.perf_counter() + needed > self._end:
                self.notes.append(f"no time for more than {number} of {len(self.rounds)} rounds")
                return
            self.bar.set_description(f"round {number + 1}")
            for fold in folds:
                for trial in contenders:
                    self._add_fold(trial, fold)
            self.bar.update()

    def _may_be_best(self, trial: Trial) -> bool:
        """Whether the best is not clearly better; the first trial, all others' rival, may be."""
        if trial is self.trials[0] or trial is self.best:
            return True
        if len(trial.scores) < len(self.rounds[0]):  # dropped
            return False
        difference, margin = self.difference(self.best, trial)
        return difference <= margin

    def _add_fold(self, trial: Trial, fold: Fold) -> None:
        begin = time.perf_counter()
        score, predicted = self._fit_and_score(trial.pipeline, fold, trial.n_rows)
        trial.seconds = time.perf_counter() - begin
        trial.scores.append(score)
        trial.predicted.append(predicted)

    def _fit_and_score(self, pipeline: Any, fold: Fold, n_rows: int) -> tuple[float, Array]:
        """Learn from at most so many rows of a fold, which are in random order, and test."""
        X, y = self.learners.X, self.learners.y
        train, test = fold[0][:n_rows], fold[1]
        # boosting: where other processes are busy, threads of OpenMP that wait for each other in
        # many short regions take hundreds of times as long as one thread alone
        with threadpool_limits(1, user_api="openmp"):
            model = with_kernel_matrix(pipeline).fit(X[train], y[train])
            predicted = model.predict(X[test])
        score = r2_score if self.learners.is_regression else accuracy_score
        return float(score(y[test], predicted)), predicted

    def difference(self, trial: Trial, other: Trial) -> tuple[float, float]:
        """By how much a trial is better than another on their common folds, and the margin."""
        n_common = min(len(trial.scores), len(other.scores))
        return self.interval(np.subtract(trial.scores[:n_common], other.scores[:n_common]))

    def interval(self, scores: Any) -> tuple[float, float]:
        """The mean of scores, or of their differences, and half of its 95 % interval."""
        scores = np.asarray(scores)
        n, n_folds = len(scores), len(self.rounds[0])
        if n < 2:
            return float(scores.mean()), math.inf
        error = float(scores.std(ddof=1)) * math.sqrt(1 / n + 1 / (n_folds - 1))
        return float(scores.mean()), float(student.ppf((1 + _CONFIDENCE) / 2, n - 1)) * error


def _better_half(trials: list[Trial], n_folds: int, seconds: float) -> list[Trial]:
    """The better half, at least two, as far as there is time for so many folds of each."""
    ranked = sorted(trials, key=lambda trial: -trial.mean)
    affordable = []
    for trial in ranked[: max(_FINALISTS, (len(trials) + 1) // 2)]:
        needed = n_folds * trial.seconds
        if needed <= seconds:
            affordable.append(trial)
            seconds -= needed
    return affordable or [min(ranked, key=lambda trial: trial.seconds)]


def affordable_rows(
    seconds: float, elapsed: float, n_timed: int, n_rows: int, growth: int
) -> int:  # fmt: skip
    """The most rows, of `n_rows`, for which work that took `elapsed` for `n_timed` ends in time."""
    while n_rows >= _FEWEST_ROWS and elapsed * (n_rows / n_timed) ** growth > max(0.0, seconds):
        n_rows = n_rows * 7 // 10
    return n_rows
