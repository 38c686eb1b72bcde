"""Contained rows of a file: sample the rows, look the samples up, compare the candidates."""

from ..._core.progress import Steps
from ...io.readers import RowReader
from ...io.workspace import Workspace
from ...kernel_table import CONTAINMENT
from .by_tables import SIZES, Sizes
from .collisions import Collisions
from .comparison import Comparison
from .containment import Samples, missed_share
from .ending import across, boundary_of, file_duplicates
from .result import FileDuplicates


def find_contained(
    reader: RowReader, threshold: float, all_pairs: bool, most_pairs: int, n_bytes: float,
    seed: int, work: Workspace, steps: Steps, n_jobs: int | None, sizes: Sizes = SIZES,
) -> FileDuplicates:  # fmt: skip
    """Pairs of rows of which one has so large a share of the other's columns."""
    samples = Samples(reader, seed, steps)
    work.checkpoint(now=True)
    boundary, n_rows = boundary_of(reader), len(samples.lengths)
    copies = samples.copies(boundary)
    collected = Collisions(n_rows, 0, n_rows, sizes.pairs)
    if boundary is None:
        collected.add(copies.rows * n_rows + copies.firsts)
    for some in samples.candidates(reader, threshold, copies, steps):
        collected.add(across(some, n_rows, boundary))
    comparison = Comparison(
        CONTAINMENT, threshold, samples.lengths, n_bytes, sizes.bytes_per_value, work, steps, n_jobs
    )
    pairs = comparison.compare(reader, collected.pairs(), "pairs")
    missed = missed_share(threshold)
    return file_duplicates(
        reader.name, pairs, copies, all_pairs, most_pairs, boundary, missed, n_rows
    )
