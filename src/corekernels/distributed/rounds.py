"""Rounds of local sweeps: each part descends on its own rows, and the changes are added up.

As in CoCoA+ (Ma et al. 2015), a part takes its steps as if all parts changed the planes as it does:
costs and dual variables times the number of parts. The sum of all changes then never makes the dual
problem worse. The first rounds come far, a small gap is out of reach. Dual variables lie in a
file per part and round; a round that is run again gives the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core.types import Array
from .._loops.learning.descent import Solution
from ..io.containers import load_arrays, save_arrays
from ..linear.descent import descend
from ..linear.gaps import Measure, half_squares, measure
from ..linear.problem import Options, Outcome, State
from ..linear.vectors import Lanes, Vector
from .engines import Engine
from .part_sums import LearnJob, Point, save_vector
from .plan import Part

SWEEPS = 5  # over the rows of a part, per round
_KIND, _VERSION = "duals", 1


class RoundJob(NamedTuple):
    """Where a round begins, and how far its parts go."""

    point: Point
    number: int
    n_parts: int
    folder: str

    def duals_file(self, part: Part, number: int) -> Path:
        """The dual variables of a part at the beginning of a round."""
        name = f"duals-{self.point.job.key}-{self.point.job.block}-{part.number}-{number}"
        return Path(self.folder) / name


def local_sweeps(job: RoundJob, part: Part) -> tuple[Lanes, Lanes, Array, Lanes]:
    """A task: losses and gaps of a part at w, and the change of w by sweeps over its rows."""
    w = job.point.vector()
    training = job.point.job.training_set(part)
    packed = training.packed
    block = job.point.job.problem.blocks(training, job.point.job.C)[job.point.job.block]
    duals = np.zeros((len(packed), block.n_lanes))
    if job.number:
        arrays, _ = load_arrays(job.duals_file(part, job.number), _KIND, _VERSION, mmap=False)
        duals = arrays["duals"]
    solution = Solution(duals, w.planes, w.biases)
    found = measure(packed, block.rows, block.problem, solution, False, 1.0)
    losses = found.objectives - half_squares(w.planes, w.biases)
    state = State(job.n_parts * duals, w.planes.copy(), w.biases.copy(), is_sum=False)
    wide = replace(block, costs=job.n_parts * block.costs)
    descend(packed, wide, state, Options(1e-9, SWEEPS, (job.number, part.number)))
    after = {"duals": state.duals / job.n_parts}
    path = job.duals_file(part, job.number + 1)
    save_arrays(path, _KIND, _VERSION, after, {}, durable=False, shared=True)
    planes = (state.planes - w.planes) / np.float32(job.n_parts)
    return losses, found.gaps, planes, (state.biases - w.biases) / job.n_parts


@dataclass
class Rounds:
    """Rounds of one block, from zero on."""

    engine: Engine
    parts: Sequence[Part]
    job: LearnJob
    folder: Path
    report: Callable[[Vector, Measure], None]
    reached: Callable[[Vector, int], None]  # called with w and the number of the next round

    def solve(self, w: Vector, tol: float, most_rounds: int, first: int = 0) -> Outcome:
        """Change w until the gap is small enough, or there were so many rounds.

        Rounds are numbered from `first`, which is that of an earlier run that reached w.
        """
        number = first
        while True:
            path = self.folder / f"round-{self.job.block}-{number}"
            save_vector(path, w)
            job = RoundJob(Point(self.job, str(path)), number, len(self.parts), str(self.folder))
            losses, gaps, planes, biases = self.engine.total(local_sweeps, job, self.parts)
            found = Measure(losses + half_squares(w.planes, w.biases), gaps)
            self.report(w, found)
            converged = bool((found.gaps <= tol * found.objectives).all())
            if converged or number == most_rounds:
                return Outcome(number * SWEEPS, found.objectives, found.relative_gaps(), converged)
            w.planes[...] += planes
            w.biases[:] += biases
            number += 1
            self.reached(w, number)
            path.unlink(missing_ok=True)
            for part in self.parts:
                job.duals_file(part, job.number).unlink(missing_ok=True)
