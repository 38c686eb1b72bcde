"""Rows dealt to other parts by a hash of their contents, so that all parts are alike.

Rounds of local sweeps need parts that are alike, and files are often sorted. Each part first lists
which of its rows go where; then each new part fetches its rows from all old ones, whose files
are mapped into memory, and writes them. Every row is so read and written once.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core.arguments import Array
from ..files.engines.base import Engine
from ..files.plan import Part, Plan
from ..files.shards import part_name, write_part
from ..io.containers import load_arrays, save_arrays
from ..io.provenance import Origin
from ..io.signature_file import read_signatures
from ..linear.coefficients import pack
from ..linear.labels import encode_labels
from ..signatures import Signatures
from .part_sums import LabelCounts, labelled_rows

_KIND, _VERSION = "places", 1
_MOST_APART = 0.1  # share of rows that would have to change their class, beyond chance


def are_alike(classes: Array, found: Sequence[LabelCounts]) -> bool:
    """Whether the parts have the same share of each class, as far as chance allows.

    Measured by the share of a part's rows that would have to change their class for that.
    """
    counts = np.zeros((len(found), len(classes)))
    for row, some in zip(counts, found, strict=True):
        if len(some.labels):
            row[np.searchsorted(classes, some.labels)] = some.counts
    shares, sizes = counts.sum(axis=0) / counts.sum(), counts.sum(axis=1)
    apart = 0.5 * np.abs(counts - sizes[:, None] * shares).sum()
    deviations = np.sqrt(sizes[:, None] * shares * (1 - shares))
    chance = 0.5 * math.sqrt(2 / math.pi) * deviations.sum()  # mean of |x| if x is normal
    return bool(apart - chance <= _MOST_APART * counts.sum())


class DealJob(NamedTuple):
    """The parts that rows come from, all classes, and the folder of the new parts."""

    parts: tuple[Part, ...]
    classes: Array
    folder: str

    def places_file(self, part: Part) -> Path:
        """Which rows of a part go where."""
        return Path(self.folder) / f"places-{part.number}"


def places_part(job: DealJob, part: Part) -> None:
    """A task: list the rows of a part, and their classes, by the new part that they go to."""
    S, y = labelled_rows(part)
    target = (pack(S, 1).digests(1) % np.uint64(len(job.parts))).astype(np.int64)
    places = np.argsort(target, kind="stable")
    arrays = {
        "places": places,
        "classes": encode_labels(y[places], job.classes),
        "ends": np.cumsum(np.bincount(target, minlength=len(job.parts))),
    }
    save_arrays(job.places_file(part), _KIND, _VERSION, arrays, {}, durable=False, shared=True)


def deal_part(job: DealJob, number: int) -> int:
    """A task: gather the rows of a new part and write them; how many there are."""
    signatures, classes = [], []
    for part in job.parts:
        arrays, _ = load_arrays(job.places_file(part), _KIND, _VERSION)
        some = slice(*np.append(0, arrays["ends"])[number : number + 2].tolist())
        found, places = read_signatures(part.path), arrays["places"][some]
        taken = {name: array[places] for name, array in found.arrays.items()}
        signatures.append(Signatures.from_arrays(found.recipe, taken))
        classes.append(arrays["classes"][some])
    path, n_rows = Path(job.folder) / part_name(number), sum(map(len, signatures))
    if n_rows and not path.exists():
        recipe, labels = signatures[0].recipe, job.classes[np.concatenate(classes)]
        origin = Origin(path.name, 0, n_rows)
        write_part(path, recipe, signatures, labels, origin, durable=False, shared=True)
    return n_rows


def deal_rows(
    engine: Engine, plan: Plan, classes: Array, folder: Path, progress: bool | None
) -> Plan:
    """As many parts as a plan has, of rows dealt by their contents, in files below a folder.

    Parts that an earlier run has finished are kept.
    """
    target = folder / f"dealt-{plan.key}"
    target.mkdir(exist_ok=True)
    job = DealJob(plan.parts, classes, str(target))
    engine.run(places_part, job, plan.parts, what="listing rows", progress=progress)
    numbers = list(range(len(plan.parts)))
    counts = engine.run(deal_part, job, numbers, what="dealing rows", progress=progress)
    filled = [(number, rows) for number, rows in enumerate(counts) if rows]
    parts = tuple(
        Part(place, str(target / part_name(number)), 0, rows)
        for place, (number, rows) in enumerate(filled)
    )
    return replace(plan, parts=parts)
