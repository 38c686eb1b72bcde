"""One block of planes after another, by Newton steps or rounds; a killed run is gone on with."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._core.progress import progress_bar
from ..files.engines.base import Engine
from ..files.plan import Plan
from ..io.provenance import checking, require_like
from ..linear.coefficients import new_planes
from ..linear.newton import Newton, Vector
from ..linear.problem import Measure, Options, Outcome
from .part_sums import LearnJob, PartSums, load_vector, save_vector
from .rounds import SWEEPS, Reached, Rounds


@dataclass(frozen=True)
class Round:
    """How far learning was before a step.

    Attributes
    ----------
    block : int
        Which block of up to eight classes.
    number : int
        Of the step, from 0.
    objective : float
        The largest of the block.
    gap : float
        The largest duality gap, as a share of the objective.
    seconds : float
        Since the block was begun.

    Examples
    --------
    >>> from corekernels import distributed
    >>> distributed.Round(block=0, number=3, objective=12.5, gap=0.01, seconds=0.4).gap
    0.01
    """

    block: int
    number: int
    objective: float
    gap: float
    seconds: float


@dataclass
class Learner:
    """Learns the planes of a job, a block at a time.

    Losses with a second derivative are learned by Newton steps, after `warm_rounds` rounds of
    local sweeps; the hinge loss by such rounds alone.
    """

    engine: Engine
    plan: Plan
    job: LearnJob
    options: Options
    folder: Path
    warm_rounds: int
    progress: bool | None

    def __post_init__(self) -> None:
        self.rounds: list[Round] = []

    def learn(self, number: int, n_lanes: int) -> tuple[Vector, Outcome]:
        """The solution of a block, from where an earlier run was, if there was one."""
        assert self.plan.recipe is not None
        job = self.job._replace(block=number)
        saved = self.folder / f"{job.key}-{number}"
        planes = new_planes(job.n_codes, self.plan.recipe.n_hashes, n_lanes)
        w, about = Vector(planes, np.zeros(n_lanes)), {"rounds": Reached()._asdict()}
        if saved.exists():
            with checking(saved, "remove it, to learn anew"):
                w, about = load_vector(saved)
                require_like("planes", w.planes, planes)
                require_like("biases", w.biases, np.zeros(n_lanes))
        before = Reached(**about["rounds"]) if "rounds" in about else None
        with progress_bar(None, f"learning, block {number}", "rounds", self.progress) as bar:
            report = self._reporter(number, bar)
            rounds = Rounds(
                self.engine, self.plan.parts, job, self.folder, report,
                lambda w, reached: save_vector(saved, w, rounds=reached._asdict()),
            )  # fmt: skip
            if "newton" not in job.problem.loss.solvers:
                assert before is not None
                most = max(1, self.options.max_iter // SWEEPS)
                return w, rounds.solve(w, self.options.tol, most, before)
            n_rounds = min(self.warm_rounds, self.options.max_iter // SWEEPS)
            n_sweeps = 0 if before is None else rounds.warm_up(w, n_rounds, before)

            def step(w: Vector, found: Measure) -> None:
                report(w, found)
                save_vector(saved, w)

            sums = PartSums(self.engine, self.plan.parts, job, self.folder)
            options = replace(self.options, max_iter=self.options.max_iter - n_sweeps)
            outcome = Newton(sums, w, options, None, step).solve()
            return w, replace(outcome, n_iter=outcome.n_iter + n_sweeps)

    def _reporter(self, block: int, bar: Any) -> Callable[[Vector, Measure], None]:
        """What shows and keeps how far a block has come."""
        start, numbers = time.perf_counter(), itertools.count()

        def report(w: Vector, found: Measure) -> None:
            gap, objective = float(found.relative_gaps().max()), float(found.objectives.max())
            seconds = time.perf_counter() - start
            self.rounds.append(Round(block, next(numbers), objective, gap, seconds))
            bar.set_postfix_str(f"objective {objective:.6g}, gap {gap:.1e}", refresh=False)
            bar.update(1)

        return report
