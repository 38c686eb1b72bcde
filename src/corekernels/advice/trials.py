"""Learners tried on the same folds, drawn several times, within a time limit.

Scores of repeated cross-validation are not independent, since training sets overlap. The variance
of their mean is corrected for it, by 1 / J + 1 / (folds - 1) in place of 1 / J for J folds in all
(Nadeau and Bengio, "Inference for the generalization error", 2003), and intervals use Student's t.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from threadpoolctl import threadpool_limits

from .._core.arguments import Array
from .learners import Learner, Learners
from .result import KINDS

Fold = tuple[Array, Array]  # rows to learn from and rows to test on

_CONFIDENCE = 0.95
_PILOT_ROWS = 200  # that a first fit learns from, to see how long all will take
_RACE_ROWS = 1000  # that settings are compared on before the best go on
_FINALISTS = 2  # settings that go through the first round
_HOPELESS = 0.1, 2  # behind the best after so many folds: no further fold
_FEWEST_ROWS = 50
_AHEAD = 1.5  # times its share that a learner may take, since most take less


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

        Where all rows would take longer than the learner's share of the time that is left, it
        learns from fewer. The first learner is always tried.
        """
        self.bar.set_description(learner.name)
        self.bar.update()
        now = time.perf_counter()
        share = _AHEAD * (self._end - now) / max(_AHEAD, self._n_waiting)
        self._n_waiting -= 1
        is_late = now > self._end and self.trials
        finalists = [] if is_late else self._race(learner, share)
        if not finalists:
            self.notes.append(f"no time for {learner.name}")
            return None
        trial = self._first_round(finalists)
        self.trials.append(trial)
        if trial.n_rows < len(self.rounds[0][0][0]):
            self.notes.append(
                f"{learner.name} learned from {trial.n_rows} rows only, for lack of time"
            )
        if len(trial.scores) < len(self.rounds[0]):
            self.notes.append(f"{learner.name} was far behind after {len(trial.scores)} folds")
        return trial

    def _race(self, learner: Learner, seconds: float) -> list[Trial]:
        """The best settings by one fold, with as many rows as they can learn from in time.

        None if that is fewer than the fewest rows.
        """
        settings, end = list(learner.pipelines), time.perf_counter() + seconds
        growth, all_rows = KINDS[learner.kind].growth, len(self.rounds[0][0][0])
        n_rows = _PILOT_ROWS
        _, elapsed = self._compare(settings[:1], n_rows)
        if len(settings) > _FINALISTS:
            needed, most = elapsed * len(settings), min(_RACE_ROWS, all_rows)
            n_rows = self._enough(affordable_rows(seconds / 2, needed, n_rows, most, growth))
            if not n_rows:
                return []
            scores, elapsed = self._compare(settings, n_rows)
            ranked = np.argsort([-score for score in scores], kind="stable")[:_FINALISTS]
            settings = [settings[place] for place in sorted(ranked)]
        needed = elapsed * len(settings) * len(self.rounds[0])
        n_rows = self._enough(
            affordable_rows(end - time.perf_counter(), needed, n_rows, all_rows, growth)
        )
        return [Trial(learner, pipeline, n_rows) for pipeline in settings if n_rows]

    def _compare(self, pipelines: Sequence[Any], n_rows: int) -> tuple[list[float], float]:
        """The scores on one fold after learning from so many rows, and the seconds per pipeline."""
        begin, fold = time.perf_counter(), self.rounds[0][0]
        scores = [self._fit_and_score(pipeline, fold, n_rows)[0] for pipeline in pipelines]
        return scores, (time.perf_counter() - begin) / len(pipelines)

    def _enough(self, n_rows: int) -> int:
        """So many rows; of too few none, but for the first learner, which is always tried."""
        fewest = min(_FEWEST_ROWS, len(self.rounds[0][0][0]))
        return n_rows if n_rows >= fewest else 0 if self.trials else fewest

    def _first_round(self, finalists: list[Trial]) -> Trial:
        """The better of the settings on the folds of the first round."""
        behind, enough = _HOPELESS
        for done, fold in enumerate(self.rounds[0]):
            if done == enough and self.trials:
                leader = np.mean(self.best.scores[:done])
                if max(trial.mean for trial in finalists) < leader - behind:
                    break
            for trial in finalists:
                self._add_fold(trial, fold)
        return max(finalists, key=lambda trial: trial.mean)

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
            model = clone(pipeline).fit(X[train], y[train])
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


def affordable_rows(
    seconds: float, elapsed: float, n_timed: int, n_rows: int, growth: int
) -> int:  # fmt: skip
    """The most rows, of `n_rows`, for which work that took `elapsed` for `n_timed` ends in time."""
    while n_rows >= _FEWEST_ROWS and elapsed * (n_rows / n_timed) ** growth > max(0.0, seconds):
        n_rows = n_rows * 7 // 10
    return n_rows
