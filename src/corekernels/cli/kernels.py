"""Commands on kernel values: kernel (exact), estimate (hashed), plan."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import files, theory
from ..errors import ParameterError
from . import frame
from .frame import command
from .progress import watched


@command("corekernels kernel test.svm K.npy --kernel core1 --against train.svm")
def kernel(
    source: frame.Source,
    target: Annotated[Path, typer.Argument(metavar="OUT.npy", help="File of the Gram matrix.")],
    kernel: Annotated[
        str, typer.Option(help="correlation, resemblance, core1 or core2.")
    ] = "core1",
    against: Annotated[
        str | None, typer.Option(metavar="IN2", help="Other rows; IN itself unless given.")
    ] = None,
    gamma: Annotated[
        float | None, typer.Option(help="If given, exp(-gamma (1 - K)) in place of K.")
    ] = None,
    working_memory: Annotated[
        float | None, typer.Option(help="Megabytes a block of the matrix may take.")
    ] = None,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Exact kernel values of all pairs of rows, in an .npy file written block by block."""
    options: dict[str, Any] = {
        "format": format, "n_columns": n_columns, "one_based": one_based, "labels": False,
    }  # fmt: skip
    reader = files.open_source(source, **options)
    like = files.sources_of(reader)
    others = None if against is None else files.open_source(against, **options, like=like)
    shape = files.kernel_to_file(
        reader, target, kernel, against=others, gamma=gamma, working_memory=working_memory,
        progress=False if quiet else None, n_jobs=n_jobs,
    )  # fmt: skip
    frame.show_notes(reader, quiet)
    about = {"target": str(target), "kernel": kernel, "gamma": gamma}
    frame.show(about | {"rows": shape[0], "columns": shape[1]}, as_json, quiet)


@command("corekernels estimate train.sig --pair 0,1 --pair 0,2")
def estimate(
    source: Annotated[
        str, typer.Argument(metavar="SIGNATURES", help="Signature file or shard folder.")
    ],
    pair: Annotated[
        list[str] | None, typer.Option(metavar="I,J", help="Rows to compare; may be repeated.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="SIGNATURES2", help="Where the second row of pairs is.")
    ] = None,
    queries: Annotated[
        str | None, typer.Option(metavar="IN2", help="Rows or signatures to find the nearest of.")
    ] = None,
    nearest: Annotated[int, typer.Option(help="How many rows to find for each query.")] = 10,
    one_based: frame.OneBased = None,
    ignore_new_columns: frame.IgnoreNew = False,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Kernel values with their standard errors: of pairs of rows, or of the nearest to queries."""
    reader = files.open_source(source, format="signatures")
    if (queries is None) == (pair is None):
        raise ParameterError("give either --pair or --queries.")
    if queries is None:
        others = None if against is None else files.open_source(against, format="signatures")
        rows = [_row_numbers(text) for text in pair or []]
        _print_estimates([files.estimate_pairs(reader, rows, others)], as_json)
        return
    asked = files.open_matching(
        queries, reader.n_columns, one_based=one_based, labels=False, like=reader.sources,
        ignore_new_columns=ignore_new_columns,
    )  # fmt: skip
    with watched(asked, "estimating", quiet) as batches:
        _print_estimates(files.nearest(reader, batches, nearest, n_jobs=n_jobs), as_json)
    frame.show_notes(asked, quiet)


@command("corekernels plan --error 0.05 --kernel core1 --n-rows 1000000")
def plan(
    error: Annotated[float | None, typer.Option(help="Wanted error of a kernel value.")] = None,
    n_hashes: Annotated[
        int | None, typer.Option(help="Number of hashes, if that is given.")
    ] = None,
    kernel: Annotated[str, typer.Option(help="core1, core2 or resemblance.")] = "core1",
    n_bits: Annotated[int, typer.Option(help="Bits kept of each hash.")] = 8,
    confidence: Annotated[float, typer.Option(help="Probability that the error is kept.")] = 0.95,
    resemblance: Annotated[
        float | None, typer.Option("--R", help="Resemblance of the pairs that matter.")
    ] = None,
    rho: Annotated[float | None, typer.Option(help="Cosine of the pairs that matter.")] = None,
    length: Annotated[int, typer.Option(help="Typical nonzeros of a row.")] = 100,
    heaviness: Annotated[float, typer.Option(help="As `info` prints it; for core2.")] = 1.0,
    n_rows: Annotated[int | None, typer.Option(help="Rows, for the forecast.")] = None,
    threads: Annotated[int, typer.Option(help="Threads, for the forecast.")] = 1,
    as_json: frame.AsJson = False,
) -> None:
    """How many hashes an error takes, or what error they give; memory and time."""
    found = theory.plan(
        error, n_hashes=n_hashes, kernel=kernel, n_bits=n_bits, confidence=confidence,
        R=resemblance, rho=rho, length=length, heaviness=heaviness, n_rows=n_rows, threads=threads,
    )  # fmt: skip
    frame.show(asdict(found), as_json)


def _row_numbers(text: str) -> tuple[int, int]:
    try:
        i, j = (int(number) for number in text.split(","))
    except ValueError:
        raise ParameterError(f"--pair: got {text!r}; give two row numbers, as 0,1.") from None
    return i, j


def _print_estimates(batches: Any, as_json: bool) -> None:
    """A line a pair, as batches come; or one JSON object."""
    names = ("i", "j", "value", "standard_error")
    pairs = []
    if not as_json:
        print("\t".join(names))
    for batch in batches:
        columns = [getattr(batch, name).tolist() for name in names]
        for i, j, value, error in zip(*columns, strict=True):
            if as_json:
                pairs.append({"i": i, "j": j, "value": value, "standard_error": error})
            else:
                print(f"{i}\t{j}\t{value:.5f}\t{error:.5f}")
    if as_json:
        frame.show({"pairs": pairs}, True)
