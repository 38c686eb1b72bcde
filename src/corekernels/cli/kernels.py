"""Commands on kernel values: kernel (exact), estimate (hashed), plan."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from .. import files, planner
from ..errors import ParameterError
from ..files.kernels import Estimates
from ..files.readers import SignatureReader
from ..kernel_table import gamma_in_use
from ..recipe import DEFAULT_BITS, DEFAULT_KERNEL, DEFAULT_WEIGHT_BITS
from .app import command
from .options import (
    ExactKernelName,
    Gamma,
    Jobs,
    KernelName,
    Matching,
    Output,
    Reading,
    Rows,
    WeightBits,
)
from .printing import show


@command("corekernels kernel test.svm K.npy --kernel core1 --against train.svm")
def kernel(
    source: Rows,
    target: Annotated[Path, Argument(metavar="OUT.npy", help="File of the Gram matrix.")],
    reading: Reading,
    output: Output,
    kernel: ExactKernelName = DEFAULT_KERNEL,
    against: Annotated[
        str | None, Option(metavar="IN2", help="Other rows; IN itself unless given.")
    ] = None,
    gamma: Annotated[
        float | None,
        Option(help="If given, exp(-gamma (1 - K)) in place of K; where K has a gamma, that."),
    ] = None,
    working_memory: Annotated[
        float | None, Option(help="Megabytes a block of the matrix may take.")
    ] = None,
    n_jobs: Jobs = None,
) -> None:
    """Exact kernel values of all pairs of rows, in an .npy file written block by block."""
    reader = reading.open_rows(source, labels=False, n_jobs=n_jobs)
    others = None
    if against is not None:
        others = reading.open_rows(against, labels=False, like=reader.provenance, n_jobs=n_jobs)
    shape = files.kernel_to_file(
        reader, target, kernel, against=others, gamma=gamma, working_memory=working_memory,
        progress=output.progress, n_jobs=n_jobs,
    )  # fmt: skip
    about = {"target": str(target), "kernel": kernel, "gamma": gamma_in_use(kernel, gamma)}
    output.show(about | {"rows": shape[0], "columns": shape[1]}, reader)


@command("corekernels estimate train.sig --pair 0,1 --pair 0,2")
def estimate(
    source: Annotated[str, Argument(metavar="SIGNATURES", help="Signature file or shard folder.")],
    matching: Matching,
    output: Output,
    pair: Annotated[
        list[str] | None, Option(metavar="I,J", help="Rows to compare; may be repeated.")
    ] = None,
    against: Annotated[
        str | None, Option(metavar="SIGNATURES2", help="Where the second row of pairs is.")
    ] = None,
    queries: Annotated[
        str | None, Option(metavar="IN2", help="Rows or signatures to find the nearest of.")
    ] = None,
    nearest: Annotated[int, Option(help="How many rows to find for each query.")] = 10,
    n_jobs: Jobs = None,
) -> None:
    """Kernel values with their standard errors: of pairs of rows, or of the nearest to queries."""
    reader = SignatureReader(source)
    if (queries is None) == (pair is None):
        raise ParameterError("give either --pair or --queries.")
    if queries is None:
        others = None if against is None else SignatureReader(against)
        rows = [_row_numbers(text) for text in pair or []]
        _print_estimates([files.estimate_pairs(reader, rows, others)], output.as_json)
        return
    asked = matching.open(queries, reader, labels=False, n_jobs=n_jobs)
    found = files.nearest(reader, asked, nearest, progress=output.progress, n_jobs=n_jobs)
    _print_estimates(found, output.as_json)
    output.show_notes(asked)


@command("corekernels plan --error 0.05 --kernel core1 --n-rows 1000000")
def plan(
    output: Output,
    error: Annotated[float | None, Option(help="Wanted error of a kernel value.")] = None,
    n_hashes: Annotated[int | None, Option(help="Number of hashes, if that is given.")] = None,
    kernel: KernelName = DEFAULT_KERNEL,
    n_bits: Annotated[int, Option(help="Bits kept of each hash.")] = DEFAULT_BITS,
    confidence: Annotated[float, Option(help="Probability that the error is kept.")] = 0.95,
    resemblance: Annotated[
        float | None, Option("--R", help="Resemblance of the pairs that matter.")
    ] = None,
    rho: Annotated[float | None, Option(help="Cosine of the pairs that matter.")] = None,
    length: Annotated[int | None, Option(help="Typical number of nonzeros per row.")] = None,
    n_columns: Annotated[int | None, Option(help="Number of columns.")] = None,
    heaviness: Annotated[float, Option(help="As `info` prints it; for core2.")] = 1.0,
    gamma: Gamma = None,
    weight_bits: WeightBits = DEFAULT_WEIGHT_BITS,
    n_rows: Annotated[int | None, Option(help="Rows, for the bytes of all.")] = None,
) -> None:
    """How many hashes an error takes, or what error they give; memory."""
    found = planner.plan(
        error, n_hashes=n_hashes, kernel=kernel, n_bits=n_bits, confidence=confidence,
        R=resemblance, rho=rho, length=length, heaviness=heaviness, n_columns=n_columns,
        n_rows=n_rows, gamma=gamma, weight_bits=weight_bits,
    )  # fmt: skip
    show(asdict(found), output.as_json)


def _row_numbers(text: str) -> tuple[int, int]:
    try:
        i, j = (int(number) for number in text.split(","))
    except ValueError:
        raise ParameterError(f"--pair: got {text!r}; give two row numbers, as 0,1.") from None
    return i, j


def _print_estimates(batches: Iterable[Estimates], as_json: bool) -> None:
    """One line per pair, as batches come; or one JSON object."""
    names = ("i", "j", "value", "standard_error")
    columns = ([getattr(batch, name).tolist() for name in names] for batch in batches)
    pairs = (pair for some in columns for pair in zip(*some, strict=True))
    if as_json:
        show({"pairs": [dict(zip(names, pair, strict=True)) for pair in pairs]}, True)
        return
    print("\t".join(names))
    for i, j, value, error in pairs:
        print(f"{i}\t{j}\t{value:.5f}\t{error:.5f}")
