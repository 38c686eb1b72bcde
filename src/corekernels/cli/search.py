"""Commands on near neighbours: index, search, dedup."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from .. import files, io
from ..errors import ParameterError
from ..io.readers import require_rows
from ..io.streams import display_name, is_stream, require_file
from ..io.targets import require_target
from ..neighbors import CoRENeighbors
from ..neighbors.tuning import AUTO, METHOD_NAMES
from .app import command
from .options import Format, Jobs, Matching, Output, Reading, Rows, Similarity, one_of
from .printing import STANDARD_OUTPUT, to_write


@command("corekernels index train.svm train.index --kernel core1 --recall 0.95 --seed 0")
def index(
    source: Rows,
    target: Annotated[Path, Argument(metavar="INDEX", help="Index file to write.")],
    reading: Reading,
    output: Output,
    similarity: Similarity,
    method: Annotated[
        str, Option(help=f"{one_of(METHOD_NAMES)}: where candidates come from.")
    ] = AUTO,
    recall: Annotated[
        float, Option(help="Wanted share of the true nearest rows among those found.")
    ] = 0.95,
    n_neighbors: Annotated[
        int,
        Option("--n-neighbors", "-k", help="Neighbours per query; the index is tuned to it."),
    ] = 10,
    seed: Annotated[int, Option(help="Seed of the hashes and of held-out rows.")] = 0,
    n_jobs: Jobs = None,
) -> None:
    """Index the rows of IN for `search`, under their row numbers, from 0."""
    reader = reading.open_rows(source, labels=False)
    report = files.index_rows(
        reader, target, **asdict(similarity), method=method, recall=recall,
        n_neighbors=n_neighbors, random_state=seed, n_jobs=n_jobs, progress=output.progress,
    )  # fmt: skip
    output.show(asdict(report), reader)


@command("corekernels search train.index test.svm neighbours.tsv -k 5 --check 50")
def search(
    path: Annotated[Path, Argument(metavar="INDEX", help="Index file, from `index`.")],
    source: Annotated[str, Argument(metavar="QUERIES", help='File of rows, or "-".')],
    target: Annotated[
        str,
        Argument(
            metavar="OUT",
            help='Lines "query, id, similarity" with tabs, to a file or "-"; '
            "if it ends in .npz, arrays distances and indices.",
        ),
    ],
    matching: Matching,
    output: Output,
    n_neighbors: Annotated[
        int | None,
        Option("--n-neighbors", "-k", help="Neighbours per query; as indexed unless given."),
    ] = None,
    radius: Annotated[
        float | None,
        Option(help="All rows of similarity 1 - RADIUS or more instead, by exact search."),
    ] = None,
    check: Annotated[
        int, Option(help="Compare this many of the first queries with exact search.")
    ] = 0,
    format: Format = None,
    n_jobs: Jobs = None,
) -> None:
    """Write the most similar indexed rows of each row of QUERIES, nearest first."""
    if target != STANDARD_OUTPUT:
        require_target(target, path, source)
    found = CoRENeighbors.load(path).set_params(n_jobs=n_jobs)
    reader = require_rows(
        matching.open(source, found.n_features_in_, found.provenance_, format=format, labels=False)
    )
    report = files.search(
        found, reader, to_write(target), n_neighbors, radius=radius, n_checked=check,
        progress=output.progress,
    )  # fmt: skip
    output.show(_about_search(report), reader, target)
    if report.check is not None and target == STANDARD_OUTPUT:
        output.note(
            f"recall {report.check.recall:.4g} on {report.check.queries:,} queries, "
            f"{report.check.times_faster:.3g} times faster than exact search"
        )


@command("corekernels dedup train.svm pairs.tsv --threshold 0.8 --keep unique.svm")
def dedup(
    source: Annotated[
        str, Argument(metavar="IN", help="File of rows; no pipe, since it is read several times.")
    ],
    target: Annotated[
        str, Argument(metavar="OUT", help='Lines "i, j, similarity" with tabs; "-" prints them.')
    ],
    reading: Reading,
    output: Output,
    similarity: Similarity,
    threshold: Annotated[float, Option(help="Least similarity of a pair.")] = 0.8,
    groups: Annotated[
        str | None, Option(metavar="OUT2", help='Write "row, group" too; a group is its first row.')
    ] = None,
    keep: Annotated[
        str | None,
        Option(metavar="ROWS", help="Write IN without all but the first row of each group."),
    ] = None,
    copies_once: Annotated[
        bool, Option("--copies-once", help="Pair a copy with the first row it equals only.")
    ] = False,
    working_memory: Annotated[float, Option(help="Megabytes of rows to hold.")] = 1024.0,
    most_pairs: Annotated[int, Option(help="Stop if more pairs are alike.")] = 50_000_000,
    seed: Annotated[int, Option(help="Seed of the hash tables.")] = 0,
    n_jobs: Jobs = None,
) -> None:
    """Find all pairs of near-duplicate rows of IN, which need not fit in memory."""
    targets = _targets(source, target, groups, keep)
    require_file(display_name(source), is_stream(source))
    reader = reading.open_rows(source)
    found = files.near_duplicates(
        reader, threshold, **asdict(similarity), all_pairs=not copies_once, most_pairs=most_pairs,
        working_memory=working_memory, seed=seed, n_jobs=n_jobs,
        scratch=targets[0].parent if targets else None, progress=output.progress,
    )  # fmt: skip
    files.write_pairs(found, to_write(target))
    if groups is not None:
        files.write_groups(found, to_write(groups))
    if keep is not None:
        files.write_kept(reader, found, keep, progress=output.progress)
    output.show({"target": target, **_about_duplicates(found)}, reader, target, groups, keep)


def _targets(source: str, target: str, groups: str | None, keep: str | None) -> list[Path]:
    """The files to write, all of which can be."""
    names = [name for name in (target, groups, keep) if name is not None]
    if names.count(STANDARD_OUTPUT) > 1:
        raise ParameterError("-: is named for two outputs; give each its own.")
    if keep is not None:
        io.RowWriter(keep)  # refuses a name that tells no format
    written = [name for name in names if name != STANDARD_OUTPUT]
    return [require_target(name, source, *written[:place]) for place, name in enumerate(written)]


def _about_search(report: files.SearchReport) -> dict[str, Any]:
    about = {**asdict(report), "queries_per_second": report.queries_per_second}
    del about["check"], about["n_neighbors" if report.n_neighbors is None else "radius"]
    if report.check is not None:
        about |= {"checked": report.check.queries, "recall": report.check.recall}
        about |= {"times_faster": report.check.times_faster}
    return about


def _about_duplicates(found: files.FileDuplicates) -> dict[str, Any]:
    groups = found.groups()
    kept = found.rows - sum(len(group) - 1 for group in groups)
    return {
        "rows": found.rows, "copies": found.copies, "pairs": len(found.pairs),
        "groups": len(groups), "rows_kept": kept, "expected_missed": found.expected_missed,
    }  # fmt: skip
