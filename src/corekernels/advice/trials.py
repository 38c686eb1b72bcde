"""Learners tried on the same folds, drawn several times, within a time limit.

Accuracies of repeated cross-validation are not independent, since training sets overlap. The
variance of their mean is corrected for it, by 1 / J + 1 / (folds - 1) in place of 1 / J for J
folds in all (Nadeau and Bengio, "Inference for the generalization error", 2003), and intervals
use Student's t.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from .._core.arguments import Array
from .learners import Learner, Settings

Folds = list[tuple[Array, Array]]

_CONFIDENCE = 0.95


@dataclass
class Trial:
    """A learner with its best settings, and what it reached."""

    learner: Learner
    settings: Settings  # the best on the first round of folds
    scores: Array  # accuracies on all folds so far, round by round
    seconds: float  # of one fit with its test, kernel values or hashing of all rows included
    round_seconds: float  # of a round of folds, for which kernel values or hashes are made once
    predicted: Array  # labels predicted on the test rows of the first round, fold by fold


class Trials:
    """Trials on the same folds; `bar` shows which learner is being tried."""

    def __init__(self, rounds: list[Folds], time_limit: float, bar: Any) -> None:
        self.rounds, self.bar = rounds, bar
        self.trials: list[Trial] = []
        self.notes: list[str] = []
        self._end = time.perf_counter() + time_limit

    def try_out(self, learner: Learner) -> Trial | None:
        """Try all settings on the first round of folds; None if there is no time for one of them.

        The first learner is always tried: the others are compared with it.
        """
        self.bar.set_description(learner.name)
        best: Trial | None = None
        for number, settings in enumerate(learner.settings):
            trial = self._first_round(learner, settings, required=not self.trials and not number)
            if trial is None:
                tried = (
                    f"more than {number} of {len(learner.settings)} settings of " if best else ""
                )
                self.notes.append(f"no time for {tried}{learner.name}")
                break
            if best is None or trial.scores.mean() > best.scores.mean():
                best = trial
        if best is not None:
            self.trials.append(best)
        self.bar.update()
        return best

    def _first_round(self, learner: Learner, settings: Settings, required: bool) -> Trial | None:
        """The first round of folds; None if it would not end in time and is not `required`."""
        folds = self.rounds[0]
        start = time.perf_counter()
        if start > self._end and not required:
            return None
        score = learner.prepare(settings)
        prepared = time.perf_counter()
        results = []
        for done, fold in enumerate(folds, 1):
            results.append(score(*fold))
            now = time.perf_counter()
            expected_end = now + (now - prepared) / done * (len(folds) - done)
            if expected_end > self._end and done < len(folds) and not required:
                return None
        elapsed = time.perf_counter() - start
        fit = (time.perf_counter() - prepared) / len(folds)
        scores = np.array([result.accuracy for result in results])
        predicted = np.concatenate([result.predicted for result in results])
        return Trial(learner, settings, scores, prepared - start + fit, elapsed, predicted)

    def repeat(self) -> None:
        """Try all learners with their best settings on the other rounds, while there is time."""
        for number, folds in enumerate(self.rounds[1:], 1):
            needed = sum(trial.round_seconds for trial in self.trials)
            if time.perf_counter() + needed > self._end:
                self.notes.append(f"no time for more than {number} of {len(self.rounds)} rounds")
                return
            self.bar.set_description(f"round {number + 1}")
            for trial in self.trials:
                score = trial.learner.prepare(trial.settings)
                more = np.array([score(*fold).accuracy for fold in folds])
                trial.scores = np.concatenate([trial.scores, more])
            self.bar.update()

    def interval(self, scores: Array) -> tuple[float, float]:
        """The mean of accuracies, or of their differences, and half of its 95 % interval."""
        n, n_folds = len(scores), len(self.rounds[0])
        error = float(scores.std(ddof=1)) * math.sqrt(1 / n + 1 / (n_folds - 1))
        return float(scores.mean()), float(student.ppf((1 + _CONFIDENCE) / 2, n - 1)) * error
