"""Commands on near neighbours: index, search, dedup."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import files, io
from ..errors import ParameterError
from ..neighbors import CoRENeighbors
from . import frame
from .frame import command
from .progress import watched

Kernel = Annotated[str, typer.Option(help="core1, core2 or resemblance.")]


@command("corekernels index train.svm train.index --kernel core1 --recall 0.95 --seed 0")
def index(
    source: frame.Source,
    target: Annotated[Path, typer.Argument(metavar="INDEX", help="Index file to write.")],
    kernel: Kernel = "core1",
    method: Annotated[
        str, typer.Option(help="auto, exact, graph, inverted or lsh: where candidates come from.")
    ] = "auto",
    recall: Annotated[
        float, typer.Option(help="Wanted share of the true nearest rows among those found.")
    ] = 0.95,
    n_neighbors: Annotated[
        int, typer.Option(help="Neighbours a query gets; the index is tuned to it.")
    ] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the hashes and of held-out rows.")] = 0,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Index the rows of IN for `search`, under their row numbers, from 0."""
    reader = files.open_source(
        source, format=format, n_columns=n_columns, one_based=one_based, labels=False
    )
    with watched(reader, "reading", quiet) as rows:
        report = files.index_rows(
            rows, target, kernel=kernel, method=method, recall=recall, n_neighbors=n_neighbors,
            random_state=seed, n_jobs=n_jobs, progress=getattr(rows, "say", None),
        )  # fmt: skip
    frame.show_notes(reader, quiet)
    frame.show(asdict(report), as_json, quiet)


@command("corekernels search train.index test.svm neighbours.tsv -k 5 --check 50")
def search(
    path: Annotated[Path, typer.Argument(metavar="INDEX", help="Index file, from `index`.")],
    source: Annotated[str, typer.Argument(metavar="QUERIES", help='File of rows, or "-".')],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help='Lines "query, id, similarity" with tabs, to a file or "-"; '
            "if it ends in .npz, arrays distances and indices.",
        ),
    ],
    n_neighbors: Annotated[
        int | None,
        typer.Option("--n-neighbors", "-k", help="Neighbours a query; as indexed unless given."),
    ] = None,
    check: Annotated[
        int, typer.Option(help="Compare this many of the first queries with exact search.")
    ] = 0,
    format: frame.Format = None,
    one_based: frame.OneBased = None,
    ignore_new_columns: frame.IgnoreNew = False,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Write the most similar indexed rows of each row of QUERIES, nearest first."""
    if target != "-":
        files.require_target(target, path, source)
    found = CoRENeighbors.load(path).set_params(n_jobs=n_jobs)
    reader = files.open_matching(
        source, found.n_features_in_, format=format, one_based=one_based, labels=False,
        like=getattr(found, "sources_", None), ignore_new_columns=ignore_new_columns,
    )  # fmt: skip
    with watched(reader, "searching", quiet) as rows:
        report = files.search(
            found, rows, sys.stdout.buffer if target == "-" else target, n_neighbors,
            n_checked=check,
        )  # fmt: skip
    frame.show_notes(reader, quiet)
    if target != "-":
        frame.show(_about_search(report), as_json, quiet)
    elif report.check is not None and not quiet:
        print(
            f"note: recall {report.check.recall:.4g} on {report.check.queries:,} queries, "
            f"{report.check.times_faster:.3g} times faster than exact search",
            file=sys.stderr,
        )


@command("corekernels dedup train.svm pairs.tsv --threshold 0.8 --keep unique.svm")
def dedup(
    source: frame.Source,
    target: Annotated[
        str,
        typer.Argument(metavar="OUT", help='Lines "i, j, similarity" with tabs; "-" prints them.'),
    ],
    threshold: Annotated[float, typer.Option(help="Least similarity of a pair.")] = 0.8,
    kernel: Kernel = "core1",
    groups: Annotated[
        str | None,
        typer.Option(metavar="OUT2", help='Write "row, group" too; a group is its first row.'),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="ROWS", help="Write IN without all but the first row of each group."),
    ] = None,
    copies_once: Annotated[
        bool,
        typer.Option("--copies-once", help="Pair a copy with the first row it equals only."),
    ] = False,
    working_memory: Annotated[float, typer.Option(help="Megabytes of rows to hold.")] = 1024.0,
    most_pairs: Annotated[int, typer.Option(help="Stop if more pairs are alike.")] = 50_000_000,
    seed: Annotated[int, typer.Option(help="Seed of the hash tables.")] = 0,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Find all pairs of near-duplicate rows of IN, which need not fit in memory."""
    files = _targets(source, target, groups, keep)
    files.require_file(source)
    reader = files.open_source(source, format=format, n_columns=n_columns, one_based=one_based)
    with watched(reader, "reading", quiet) as rows:
        found = files.near_duplicates(
            rows, threshold, kernel, all_pairs=not copies_once, most_pairs=most_pairs,
            working_memory=working_memory, seed=seed, n_jobs=n_jobs,
            scratch=files[0].parent if files else None, progress=getattr(rows, "say", None),
        )  # fmt: skip
        files.write_pairs(found, sys.stdout.buffer if target == "-" else target)
        if groups is not None:
            files.write_groups(found, sys.stdout.buffer if groups == "-" else groups)
        if keep is not None:
            files.write_kept(rows, found, keep)
    frame.show_notes(reader, quiet)
    if "-" not in (target, groups, keep):
        frame.show({"target": target, **_about_duplicates(found)}, as_json, quiet)


def _targets(source: str, target: str, groups: str | None, keep: str | None) -> list[Path]:
    """The files to write, all of which can be."""
    names = [name for name in (target, groups, keep) if name is not None]
    if names.count("-") > 1:
        raise ParameterError("-: is named for two outputs; give each its own.")
    if keep is not None:
        io.RowWriter(keep)  # refuses a name that tells no format
    files = [name for name in names if name != "-"]
    return [files.require_target(name, source, *files[:place]) for place, name in enumerate(files)]


def _about_search(report: files.SearchReport) -> dict[str, Any]:
    about: dict[str, Any] = {
        "target": report.target, "queries": report.queries, "n_neighbors": report.n_neighbors,
        "seconds": report.seconds, "queries_per_second": report.queries_per_second,
    }  # fmt: skip
    if report.check is None:
        return about
    return about | {
        "checked": report.check.queries, "recall": report.check.recall,
        "times_faster": report.check.times_faster,
    }  # fmt: skip


def _about_duplicates(found: files.FileDuplicates) -> dict[str, Any]:
    groups = found.groups()
    kept = found.rows - sum(len(group) - 1 for group in groups)
    return {
        "rows": found.rows, "copies": found.copies, "pairs": len(found.pairs),
        "groups": len(groups), "rows_kept": kept, "expected_missed": found.expected_missed,
    }  # fmt: skip
