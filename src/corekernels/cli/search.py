"""Commands on near neighbours: index, search."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from .. import files
from .._core.escaping import visible
from ..errors import ParameterError
from ..files.searching import SearchReport
from ..io.atomic import require_target
from ..neighbors import CoRENeighbors
from ..neighbors.tuning import AUTO, METHOD_NAMES
from .app import command
from .options import (
    Cluster,
    Format,
    Jobs,
    Matching,
    Output,
    Reading,
    Resume,
    Rows,
    Similarity,
    one_of,
    require_lines_target,
)
from .printing import STANDARD_OUTPUT, show, show_table, to_write


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
    reader = reading.open_rows(source, labels=False, n_jobs=n_jobs)
    report = files.index_rows(
        reader, target, **asdict(similarity), method=method, recall=recall,
        n_neighbors=n_neighbors, random_state=seed, n_jobs=n_jobs, progress=output.progress,
    )  # fmt: skip
    output.show(asdict(report), reader)


@command("corekernels search train.index test.svm neighbours.tsv -k 5 --check 50")
def search(
    path: Annotated[Path, Argument(metavar="INDEX", help="Index file, from `index`.")],
    matching: Matching,
    output: Output,
    source: Annotated[
        str | None,
        Argument(metavar="QUERIES", help='File of rows, or "-".', show_default=False),
    ] = None,
    target: Annotated[
        str,
        Argument(
            metavar="OUT",
            help='Lines "query, id, similarity" with tabs, to a file or "-"; '
            "if it ends in .npz, arrays distances and indices.",
        ),
    ] = STANDARD_OUTPUT,
    query: Annotated[
        list[str] | None,
        Option(metavar="TEXT", help="Words to look up, in place of QUERIES; may be repeated."),
    ] = None,
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
    resume: Resume = False,
    *,
    cluster: Cluster,
    format: Format = None,
    n_jobs: Jobs = None,
) -> None:
    """Write the most similar indexed rows of each row of QUERIES, nearest first."""
    if (source is None) == (not query):
        raise ParameterError("QUERIES, --query: give one of them, a file or words to look up.")
    found = CoRENeighbors.load(path).set_params(n_jobs=n_jobs)
    if query:
        weights = matching.document_frequencies
        _show_found(files.search_texts(found, query, n_neighbors, weights), query, output)
        return
    assert source is not None
    if cluster and check:
        raise ParameterError("--check: is not done on a cluster; leave it out.")
    if target != STANDARD_OUTPUT:
        require_target(target, path)
    require_lines_target(target, cluster, resume)
    with cluster.started() as engine:
        queries = matching.open(
            source, found, engine, output, format=format, labels=False, n_jobs=n_jobs
        )
        if engine is not None:
            output.note_unfinished(target, resume)
        report = files.search(
            path if engine is not None else found, queries, to_write(target), n_neighbors,
            radius=radius, n_checked=check, engine=engine, resume=resume, progress=output.progress,
        )  # fmt: skip
    output.show(_about_search(report), queries, target)
    if report.check is not None and target == STANDARD_OUTPUT:
        output.note(
            f"recall {report.check.recall:.4g} on {report.check.queries:,} queries, "
            f"{report.check.times_faster:.3g} times faster than exact search"
        )


def _show_found(found: list[list[tuple[Any, float]]], queries: list[str], output: Output) -> None:
    """Print what was found for each of some words, and a note where that is nothing alike."""
    for text, pairs in zip(queries, found, strict=True):
        if pairs[0][1] == 0:
            output.note(
                f"query {text!r}: no document found has a word, or n-gram, of it; "
                "those listed are of similarity 0"
            )
    if output.as_json:
        names = ("id", "similarity")
        rows = [[dict(zip(names, pair, strict=True)) for pair in pairs] for pairs in found]
        show({"queries": queries, "found": rows}, True)
        return
    for text, pairs in zip(queries, found, strict=True):
        if len(queries) > 1:
            print(visible(text))
        show_table(["id", "similarity"], [[str(name), f"{value:.4f}"] for name, value in pairs])


def _about_search(report: SearchReport) -> dict[str, Any]:
    about = {**asdict(report), "queries_per_second": report.queries_per_second}
    del about["check"], about["n_neighbors" if report.n_neighbors is None else "radius"]
    if report.check is not None:
        about |= {"checked": report.check.queries, "recall": report.check.recall}
        about |= {"times_faster": report.check.times_faster}
    return about
