"""Groups of more pairs than one machine holds: spanning forests of parts, merged by tasks."""

from collections.abc import Sequence

import numpy as np

from .._core.arguments import Array
from ..files.engines.base import FAN_IN, Engine
from ..neighbors.duplicates.components import spanning_forest
from .candidates import DuplicatesJob, save_records
from .compared_pairs import CopySets, require_records


def forest_of_pairs(job: DuplicatesJob, argument: tuple[str, str]) -> tuple[str, int]:
    """A task: write a spanning forest of a file of pairs; its name and number of edges."""
    source, target = argument
    found = require_records(job, source)
    forest = spanning_forest(np.stack([found["left"], found["right"]], axis=1))
    return save_records(job, target, forest), len(forest)


def merge_forests(job: DuplicatesJob, argument: tuple[Sequence[str], str]) -> tuple[str, int]:
    """A task: write a spanning forest of several forests; its name and number of edges."""
    sources, target = argument
    forest = spanning_forest(np.concatenate([require_records(job, name) for name in sources]))
    return save_records(job, target, forest), len(forest)


def merged_forest(
    engine: Engine, job: DuplicatesJob, files: Sequence[str], most_edges: int
) -> Array:
    """A spanning forest of all files of pairs and of copies.

    Tasks merge forests until those that are left have at most `most_edges` in all.
    """
    asked = [(name, f"forest-0-{number}.npy") for number, name in enumerate(files)]
    forests, level = engine.run(forest_of_pairs, job, asked), 0
    while len(forests) > 1 and sum(size for _, size in forests) > most_edges:
        level += 1
        names = [name for name, _ in forests]
        merges = [
            (names[at : at + FAN_IN], f"forest-{level}-{at // FAN_IN}.npy")
            for at in range(0, len(names), FAN_IN)
        ]
        forests = engine.run(merge_forests, job, merges)
    copies = CopySets(job).range(0, None)
    pairs = [require_records(job, name) for name, _ in forests]
    return spanning_forest(np.concatenate([np.stack([copies.firsts, copies.rows], 1), *pairs]))
