"""Rounds of local sweeps: each part descends on its own rows, and the changes are put together.

As in CoCoA+ (Ma et al. 2015), a part takes its steps as if all parts changed the planes as it does:
costs and dual variables times the number of parts. The driver then takes of each part's change as
much as is best for the dual problem (`recombination`), which so never becomes worse. The
first rounds come far, a small gap is out of reach. Dual variables lie in a file per part and round;
a round that is run again gives the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core.arguments import Array, PathLike
from .._loops.learning.descent import Solution
from ..files.engines.base import Engine, terms_per_sum
from ..files.plan import Part
from ..io.containers import load_arrays, save_arrays
from ..io.provenance import checking, require_like
from ..linear.coefficients import Packed
from ..linear.descent import descend
from ..linear.newton import Lanes, Vector
from ..linear.problem import Block, Measure, Options, Outcome, State, half_squares, measure
from .part_sums import LearnJob, Point, save_vector
from .recombination import (
    Change,
    Least,
    best_multipliers,
    conjugates,
    dual_bounds,
    largest_multipliers,
)

SWEEPS = 5  # over the rows of a part, per round
MOST_CHANGES = 16  # that have a multiplier of their own; neighbours among more parts share one
_KIND, _VERSION = "duals", 1


class Reached(NamedTuple):
    """How far an earlier run has come."""

    next_round: int = 0
    multipliers: tuple[tuple[float, ...], ...] = ()  # of the changes of the round before


def duals_file(folder: PathLike, job: LearnJob, part: Part, number: int) -> Path:
    """The dual variables of a part before a round, and how the round has changed them."""
    return Path(folder) / f"duals-{job.key}-{job.block}-{part.number}-{number}"


class RoundJob(NamedTuple):
    """Where a round begins."""

    point: Point
    number: int
    n_parts: int
    folder: str
    multipliers: Array  # of the changes of the round before, one row per sum of parts

    def duals(self, part: Part, packed: Packed, block: Block) -> Array:
        """The dual variables of a part at the beginning of the round."""
        if self.number == 0:
            return np.zeros((len(packed), block.n_lanes))
        path = duals_file(self.folder, self.point.job, part, self.number - 1)
        arrays, _ = load_arrays(path, _KIND, _VERSION, mmap=False)
        with checking(path, "remove what is of the unfinished run, to learn anew"):
            for name in ("duals", "change"):
                require_like(name, arrays[name], np.zeros(block.targets.shape))
        group = part.number // terms_per_sum(self.n_parts, MOST_CHANGES)
        found = arrays["duals"] + self.multipliers[group] * arrays["change"]
        return np.clip(found, *dual_bounds(block))


class _Rows(NamedTuple):
    """The rows of a part, their problems, and where a round begins."""

    packed: Packed
    block: Block
    duals: Array
    w: Vector

    @classmethod
    def of(cls, job: RoundJob, part: Part) -> "_Rows":
        learn = job.point.job
        training = learn.training_set(part)
        block = learn.problem.blocks(training, learn.C)[learn.block]
        duals = job.duals(part, training.packed, block)
        return cls(training.packed, block, duals, job.point.vector())

    def measure(self) -> tuple[Lanes, Lanes]:
        """Losses and gaps."""
        solution = Solution(self.duals, self.w.planes, self.w.biases)
        found = measure(self.packed, self.block, solution, False, 1.0)
        return found.objectives - half_squares(self.w.planes, self.w.biases), found.gaps


def gaps_part(job: RoundJob, part: Part) -> tuple[Lanes, Lanes]:
    """A task: losses and gaps of the rows of a part."""
    return _Rows.of(job, part).measure()


def local_sweeps(job: RoundJob, part: Part) -> tuple[Lanes, Lanes, Array, Lanes, Array, Least]:
    """A task: losses and gaps of a part, and the `Change` by sweeps over its rows."""
    rows = _Rows.of(job, part)
    packed, block, duals, w = rows
    losses, gaps = rows.measure()
    state = State(job.n_parts * duals, w.planes.copy(), w.biases.copy(), is_sum=False)
    wide = replace(block, costs=job.n_parts * block.costs)
    descend(packed, wide, state, Options(1e-9, SWEEPS, (job.number, part.number)))
    change = state.duals / job.n_parts - duals
    path = duals_file(job.folder, job.point.job, part, job.number)
    arrays = {"duals": duals, "change": change}
    save_arrays(path, _KIND, _VERSION, arrays, {}, durable=False, shared=True)
    planes = (state.planes - w.planes) / np.float32(job.n_parts)
    biases = (state.biases - w.biases) / job.n_parts
    terms = conjugates(block, duals, change), largest_multipliers(block, duals, change)
    return losses, gaps, planes, biases, *terms


@dataclass
class Rounds:
    """Rounds of one block."""

    engine: Engine
    parts: Sequence[Part]
    job: LearnJob
    folder: Path
    report: Callable[[Vector, Measure], None]
    reached: Callable[[Vector, Reached], None]  # called after each round

    def solve(self, w: Vector, tol: float, most_rounds: int, before: Reached) -> Outcome:
        """Change w, which an earlier run has reached, until its gap is small enough.

        There are at most so many rounds. Files of the last one stay: they tell the gap, should
        later blocks be interrupted.
        """
        while before.next_round < most_rounds:
            found, before = self._advance(w, before, tol)
            if (found.gaps <= tol * found.objectives).all():
                break
        else:
            losses, gaps = self.engine.total(gaps_part, self._round(w, before), self.parts)
            found = Measure(losses + half_squares(w.planes, w.biases), gaps)
            self.report(w, found)
        converged = bool((found.gaps <= tol * found.objectives).all())
        n_sweeps = before.next_round * SWEEPS
        return Outcome(n_sweeps, found.objectives, found.relative_gaps(), converged)

    def warm_up(self, w: Vector, n_rounds: int, before: Reached) -> int:
        """Change w by so many rounds, with those that an earlier run made; the sweeps of all."""
        while before.next_round < n_rounds:
            _, before = self._advance(w, before, 0.0)
        self._forget(before)
        return n_rounds * SWEEPS

    def _round(self, w: Vector, before: Reached) -> RoundJob:
        path = self._vector_file(before)
        save_vector(path, w)
        point, multipliers = Point(self.job, str(path)), np.array(before.multipliers)
        return RoundJob(point, before.next_round, len(self.parts), str(self.folder), multipliers)

    def _vector_file(self, before: Reached) -> Path:
        return self.folder / f"round-{self.job.block}-{before.next_round}"

    def _advance(self, w: Vector, before: Reached, tol: float) -> tuple[Measure, Reached]:
        """Measure w and change it by a round, unless its gap is small enough."""
        job = self._round(w, before)
        sums = self.engine.sums(local_sweeps, job, self.parts, MOST_CHANGES)
        losses, gaps = sum(some[0] for some in sums), sum(some[1] for some in sums)
        found = Measure(losses + half_squares(w.planes, w.biases), gaps)
        self.report(w, found)
        if (found.gaps <= tol * found.objectives).all():
            return found, before
        changes = [Change(*some[2:]) for some in sums]
        # as the planes will move
        multipliers = best_multipliers(w, changes).astype(np.float32).astype(np.float64)
        for share, change in zip(multipliers, changes, strict=True):
            w.add(share, change.vector, w, None)
        after = Reached(job.number + 1, tuple(map(tuple, multipliers.tolist())))
        self.reached(w, after)
        self._forget(before)
        return found, after

    def _forget(self, before: Reached) -> None:
        """Delete what a round needed that will not be run again."""
        self._vector_file(before).unlink(missing_ok=True)
        for part in self.parts:
            path = duals_file(self.folder, self.job, part, before.next_round - 1)
            path.unlink(missing_ok=True)
