"""Commands on near neighbours: index, search."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from .. import files
from .._core.escaping import visible
from ..errors import ParameterError
from ..files.searching import Match, SearchReport
from ..io.atomic import require_target
from ..kernel_table import CORRELATION, INNER_PRODUCT, KERNELS
from ..neighbors import CoRENeighbors
from ..neighbors.tuning import AUTO, METHOD_NAMES
from ..recipe import DEFAULT_KERNEL
from ..text.settings import BM25, BY_RARITY
from . import options
from .app import command
from .printing import STANDARD_OUTPUT, show, show_table, to_write

_KERNEL_OF_WEIGHTS = {BM25: INNER_PRODUCT.name, "tfidf": CORRELATION.name}


@command("corekernels index train.svm train.index --kernel core1 --recall 0.95 --seed 0")
def index(
    source: options.Rows,
    target: Annotated[Path, Argument(metavar="INDEX", help="Index file to write.")],
    reading: options.Reading,
    output: options.Output,
    kernel: Annotated[
        str | None,
        Option(
            help=f"{options.one_of(KERNELS)}.  \\[default: inner_product of bm25 weights for "
            f"--text, else {DEFAULT_KERNEL}]"
        ),
    ] = None,
    gamma: options.Gamma = None,
    *,
    method: Annotated[
        str, Option(help=f"{options.one_of(METHOD_NAMES)}: where candidates come from.")
    ] = AUTO,
    recall: Annotated[
        float, Option(help="Wanted share of the true nearest rows among those found.")
    ] = 0.95,
    n_neighbors: Annotated[
        int,
        Option("--n-neighbors", "-k", help="Neighbours per query; the index is tuned to it."),
    ] = 10,
    seed: Annotated[int, Option(help="Seed of the hashes and of held-out rows.")] = 0,
    n_jobs: options.Jobs = None,
) -> None:
    """Index the rows of IN for `search`, under their row numbers, from 0.

    Documents (--text) are to be asked in words: by BM25, unless --kernel or --weights say else.
    """
    weights = reading.weights if reading.weights in BY_RARITY else None
    is_plain = reading.weights is None and reading.frequencies is None
    if reading.text and is_plain and kernel in (None, INNER_PRODUCT.name):
        weights = BM25
    if kernel is None:
        kernel = _KERNEL_OF_WEIGHTS.get(weights or "", DEFAULT_KERNEL)
    if weights is not None:
        reading = replace(reading, weights=BY_RARITY[weights])
    reader = reading.open_rows(source, labels=False, n_jobs=n_jobs)
    report = files.index_rows(
        reader, target, weights=weights, kernel=kernel, gamma=gamma, method=method, recall=recall,
        n_neighbors=n_neighbors, random_state=seed, n_jobs=n_jobs, progress=output.progress,
    )  # fmt: skip
    output.show(asdict(report), reader)


@command("corekernels search train.index test.svm neighbours.tsv -k 5 --check 50")
def search(
    path: Annotated[Path, Argument(metavar="INDEX", help="Index file, from `index`.")],
    matching: options.Matching,
    output: options.Output,
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
    resume: options.Resume = False,
    *,
    cluster: options.Cluster,
    format: options.Format = None,
    n_jobs: options.Jobs = None,
) -> None:
    """Write the most similar indexed rows of each row of QUERIES, nearest first."""
    if (source is None) == (not query):
        raise ParameterError("QUERIES, --query: give one of them, a file or words to look up.")
    loaded = CoRENeighbors.load(path).set_params(n_jobs=n_jobs)
    if query:
        _show_matches(files.search_texts(loaded, query, n_neighbors), query, output)
        return
    assert source is not None
    if cluster and check:
        raise ParameterError("--check: is not done on a cluster; leave it out.")
    if target != STANDARD_OUTPUT:
        require_target(target, path)
    options.require_lines_target(target, cluster, resume)
    with cluster.started() as engine:
        queries = matching.open(
            source, loaded, engine, output, format=format, labels=False, n_jobs=n_jobs
        )
        if engine is not None:
            output.note_unfinished(target, resume)
        report = files.search(
            path if engine is not None else loaded, queries, to_write(target), n_neighbors,
            radius=radius, n_checked=check, engine=engine, resume=resume, progress=output.progress,
        )  # fmt: skip
    output.show(_about_search(report), queries, target)
    if report.check is not None and target == STANDARD_OUTPUT:
        output.note(
            f"recall {report.check.recall:.4g} on {report.check.queries:,} queries, "
            f"{report.check.times_faster:.3g} times faster than exact search"
        )


def _show_matches(answers: list[list[Match]], queries: list[str], output: options.Output) -> None:
    """Print what was found for each of some words, and a note where that is nothing."""
    for text, matches in zip(queries, answers, strict=True):
        if not matches:
            output.note(f"query {text!r}: nothing found; no document has a word, or n-gram, of it")
    if any(match.snippet is None for matches in answers for match in matches):
        output.note("no snippets: the documents are not where they were indexed, or have changed")
    if output.as_json:
        rows = [[match._asdict() for match in matches] for matches in answers]
        show({"queries": queries, "found": rows}, True)
        return
    for text, matches in zip(queries, answers, strict=True):
        if len(queries) > 1:
            print(visible(text))
        lines = [[str(name), f"{value:.4f}", passage or ""] for name, value, passage in matches]
        if lines:
            show_table(["id", "similarity", ""], lines)


def _about_search(report: SearchReport) -> dict[str, Any]:
    about = {**asdict(report), "queries_per_second": report.queries_per_second}
    del about["check"], about["n_neighbors" if report.n_neighbors is None else "radius"]
    if report.check is not None:
        about |= {"checked": report.check.queries, "recall": report.check.recall}
        about |= {"times_faster": report.check.times_faster}
    return about
