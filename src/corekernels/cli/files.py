"""Commands on files and on kernel values, which start fast: they import no scikit-learn."""

import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import corekernels as ck

from .. import files, planner, report
from ..errors import ParameterError
from ..files.hashing import provenance_before, rows_per_part
from ..files.readers import SignatureReader
from ..io.atomic import require_target
from ..io.formats import format_names
from ..kernel_table import gamma_in_use
from ..recipe import CONTRACT, DEFAULT_BITS, DEFAULT_KERNEL, DEFAULT_WEIGHT_BITS
from . import options
from .app import command
from .printing import show

if TYPE_CHECKING:
    from ..files.kernels import Estimates
    from ..files.surveys import Survey
    from ..text import InverseDocumentFrequency

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@command("corekernels info train.svm --page rows.html")
def info(
    source: options.RowsOrSignatures,
    reading: options.Reading,
    output: options.Output,
    page: options.Page = None,
    n_jobs: options.Jobs = None,
) -> None:
    """Describe a file: its rows and the hashing they suggest, or what was made of rows."""
    from ..files.kernels import file_kind  # on use: hashing does without

    options.require_page(page, source)
    kind = "rows" if reading.text else file_kind(source, reading.format)
    if page is not None and kind != "rows":
        raise ParameterError(f"--page: is for files of rows; {source} holds a file of {kind}.")
    if kind == "rows":
        reader = reading.open_rows(source, n_jobs=n_jobs)
        description = files.survey(reader, progress=output.progress, n_jobs=n_jobs)
        output.show_notes(reader)
        if page is not None:
            report.write_page(report.survey_report(description, source, reading.given), page)
        about = asdict(description) if output.as_json else _about_rows(description)
        if reading.text and not output.as_json:
            about["near-duplicates"] = "resemblance of 3-grams of words, 0.8 or more (dedup)"
        show({"format": reader.format, **about}, output.as_json)
    else:
        show(_ABOUT[kind](source), output.as_json)


@command("corekernels hash train.svm train.sig --kernel core1 --n-hashes 256 --n-bits 8 --seed 0")
def hash_(
    source: options.Rows,
    target: Annotated[Path, Argument(metavar="OUT", help="Signature file, or shard folder.")],
    hashing: options.Hashing,
    reading: options.Reading,
    output: options.Output,
    cluster: options.Cluster,
    shard_rows: Annotated[
        int | None, Option(help="Make OUT a folder of shards of this many rows.")
    ] = None,
    resume: options.Resume = False,
    append: Annotated[bool, Option("--append", help="Add to the rows in OUT.")] = False,
    n_jobs: options.Jobs = None,
) -> None:
    """Hash the rows of IN into a signature file, in one pass and constant memory.

    On a cluster OUT is a folder of shards, one per file or per --shard-rows.
    """
    with cluster.started() as engine:
        if engine is not None and append:
            raise ParameterError("--append: is not done on a cluster; hash into another folder.")
        like = provenance_before(target) if append else []  # columns mean what they did
        rows = reading.open(source, engine, output, like=like, n_jobs=n_jobs)
        recipe = hashing.recipe(rows)
        if engine is not None and shard_rows is None:
            shard_rows = rows_per_part(recipe)
        output.note_unfinished(target, resume)
        done = files.hash_to_file(
            rows, target, recipe, shard_rows=shard_rows, resume=resume, append=append,
            engine=engine, progress=output.progress, n_jobs=n_jobs,
        )  # fmt: skip
    output.show(asdict(done), rows)


@command("corekernels convert train.svm train.npz")
def convert(
    source: options.Rows,
    target: Annotated[str, Argument(metavar="OUT", help='File of rows; "-" writes svmlight.')],
    reading: options.Reading,
    output: options.Output,
    to: Annotated[
        str | None, Option(help=f"{options.one_of(format_names())}, if OUT does not tell.")
    ] = None,
    labels: Annotated[
        bool, Option("--labels/--no-labels", help="Whether to write labels; .npy has no place.")
    ] = True,
    n_jobs: options.Jobs = None,
) -> None:
    """Write the rows and labels of IN in another format."""
    reader = reading.open_rows(source, labels=labels, n_jobs=n_jobs)
    n_rows = files.convert(reader, target, format=to, progress=output.progress)
    about = {"target": target, "rows": n_rows, "columns": reader.n_columns}
    output.show(about, reader, target)


@command("corekernels frequencies train.svm train.idf")
def frequencies(
    source: options.Rows,
    target: Annotated[Path, Argument(metavar="OUT", help="File of counts, for --frequencies.")],
    reading: options.Reading,
    output: options.Output,
    max_columns: Annotated[
        int, Option(help="N-grams to keep count of, 16 bytes each; of more, the rarest are left.")
    ] = 1 << 22,
    n_jobs: options.Jobs = None,
) -> None:
    """Count in how many documents each n-gram occurs, to weigh them by their rarity.

    With --frequencies OUT, other commands multiply the value of an n-gram that occurs in df of
    n documents by log((1 + n) / (1 + df)) + 1.
    """
    reader = reading.open_rows(source, labels=False, n_jobs=n_jobs)
    require_target(target, source)
    counted = files.count_frequencies(
        reader, target, max_columns=max_columns, progress=output.progress
    )
    output.show({"target": str(target), **_about_counts(counted)}, reader)


@command("corekernels kernel test.svm K.npy --kernel core1 --against train.svm")
def kernel(
    source: options.Rows,
    target: Annotated[Path, Argument(metavar="OUT.npy", help="File of the Gram matrix.")],
    reading: options.Reading,
    output: options.Output,
    kernel: options.ExactKernelName = DEFAULT_KERNEL,
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
    n_jobs: options.Jobs = None,
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
    matching: options.Matching,
    output: options.Output,
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
    n_jobs: options.Jobs = None,
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
    query_rows = matching.open(queries, reader, labels=False, n_jobs=n_jobs)
    estimates = files.nearest(reader, query_rows, nearest, progress=output.progress, n_jobs=n_jobs)
    _print_estimates(estimates, output.as_json)
    output.show_notes(query_rows)


@command("corekernels plan --error 0.05 --kernel core1 --n-rows 1000000")
def plan(
    output: options.Output,
    error: Annotated[float | None, Option(help="Wanted error of a kernel value.")] = None,
    n_hashes: Annotated[int | None, Option(help="Number of hashes, if that is given.")] = None,
    kernel: options.KernelName = DEFAULT_KERNEL,
    n_bits: Annotated[int, Option(help="Bits kept of each hash.")] = DEFAULT_BITS,
    confidence: Annotated[float, Option(help="Probability that the error is kept.")] = 0.95,
    resemblance: Annotated[
        float | None, Option("--R", help="Resemblance of the pairs that matter.")
    ] = None,
    rho: Annotated[float | None, Option(help="Cosine of the pairs that matter.")] = None,
    length: Annotated[int | None, Option(help="Typical number of nonzeros per row.")] = None,
    n_columns: Annotated[int | None, Option(help="Number of columns.")] = None,
    heaviness: Annotated[float, Option(help="As `info` prints it; for core2.")] = 1.0,
    gamma: options.Gamma = None,
    weight_bits: options.WeightBits = DEFAULT_WEIGHT_BITS,
    n_rows: Annotated[int | None, Option(help="Rows, for the bytes of all.")] = None,
) -> None:
    """How many hashes an error takes, or what error they give; memory."""
    result = planner.plan(
        error, n_hashes=n_hashes, kernel=kernel, n_bits=n_bits, confidence=confidence,
        R=resemblance, rho=rho, length=length, heaviness=heaviness, n_columns=n_columns,
        n_rows=n_rows, gamma=gamma, weight_bits=weight_bits,
    )  # fmt: skip
    show(asdict(result), output.as_json)


@command("corekernels version --json")
def version(output: options.Output) -> None:
    """Versions of this package, of its hash contract and of what it stands on."""
    versions = {"corekernels": ck.__version__, "hash_contract": CONTRACT}
    versions |= {"python": platform.python_version()}
    show(versions | {name: metadata.version(name) for name in _PACKAGES}, output.as_json)


def _row_numbers(text: str) -> tuple[int, int]:
    try:
        i, j = (int(number) for number in text.split(","))
    except ValueError:
        raise ParameterError(f"--pair: got {text!r}; give two row numbers, as 0,1.") from None
    return i, j


def _print_estimates(batches: "Iterable[Estimates]", as_json: bool) -> None:
    """One line per pair, as batches come; or one JSON object."""
    names = ("i", "j", "value", "standard_error")
    columns = ([getattr(batch, name).tolist() for name in names] for batch in batches)
    pairs = (pair for batch in columns for pair in zip(*batch, strict=True))
    if as_json:
        show({"pairs": [dict(zip(names, pair, strict=True)) for pair in pairs]}, True)
        return
    print("\t".join(names))
    for i, j, value, error in pairs:
        print(f"{i}\t{j}\t{value:.5f}\t{error:.5f}")


def _about_rows(survey: "Survey") -> dict[str, Any]:
    lengths = " ".join(f"{name} {value:,.4g}" for name, value in survey.row_lengths.items())
    plan = survey.plan
    about: dict[str, Any] = {
        "rows": f"{survey.rows:,} ({survey.empty_rows:,} empty)",
        "columns": survey.columns,
        "nonzeros": f"{survey.nonzeros:,} (density {survey.density:.3%})",
        "nonzeros_per_row": lengths,
        "values": _range(survey),
        "heaviness": f"{survey.heaviness:.3g} (1 binary, about 2 TF-IDF, hundreds raw counts)",
    }
    if survey.classes is not None:
        about["labels"] = f"{len(survey.classes):,} classes"
        about["learn_on"] = _learn_on(survey.rows)
    return about | {
        "suggested": f"--kernel {plan.kernel} --n-hashes {plan.n_hashes} --n-bits {plan.n_bits}",
        "because": survey.reason,
        "error": f"{plan.error:.2g} on close pairs (confidence {plan.confidence:.0%})",
        "memory": f"{(plan.n_bytes or 0) / 1e6:,.3g} MB of signatures",
    }


def _range(survey: "Survey") -> str:
    """The values that are not 0."""
    if not survey.nonzeros:
        return "all 0"
    return f"{survey.least:.4g} to {survey.greatest:.4g}" + (", all equal" if survey.binary else "")


_ROWS_FOR_ONE_MACHINE = 10_000_000  # that it learns from in minutes, once they are hashed


def _learn_on(n_rows: int) -> str:
    """Where learning from so many rows is fastest."""
    return "one machine" if n_rows <= _ROWS_FOR_ONE_MACHINE else "a cluster (--engine)"


def _about_signatures(path: str) -> dict[str, Any]:
    reader = SignatureReader(path)
    about: dict[str, Any] = {"format": "signatures", "rows": reader.n_rows, "bytes": reader.n_bytes}
    about |= {"parts": len(reader.paths), "learn_on": _learn_on(reader.n_rows)}
    return {**about, **reader.recipe.asdict()}


def _about_model(path: str) -> dict[str, Any]:
    model = ck.load_model(path)
    about: dict[str, Any] = {"format": "model", "rows": model.linear_.n_rows_, "C": model.C}
    if isinstance(model, ck.CoREClassifier):
        classes = ", ".join(map(str, model.classes_[:10]))
        more = ", ..." if len(model.classes_) > 10 else ""
        about |= {"predicts": "classes", "loss": model.loss}
        about |= {"classes": f"{len(model.classes_)} ({classes}{more})"}
    else:
        about |= {"predicts": "values"}
    return about | model.recipe_.asdict()


def _about_index(path: str) -> dict[str, Any]:
    index = ck.CoRENeighbors.load(path)
    return {
        "format": "index", "rows": index.n_samples_fit_, "columns": index.n_features_in_,
        "kernel": index.kernel, **({} if index.gamma is None else {"gamma": index.gamma}),
        "method": index.method_, "because": index.reason_,
        "n_neighbors": index.n_neighbors, "recall": index.recall,
        "estimated_recall": index.estimated_recall_,
    }  # fmt: skip


def _about_counts(frequencies: "InverseDocumentFrequency") -> dict[str, Any]:
    settings = frequencies.settings_.asdict() if frequencies.settings_ else {}
    return {
        "documents": frequencies.n_documents_, "columns": len(frequencies.columns_),
        "error": frequencies.error_, "digest": frequencies.digest(), **settings,
    }  # fmt: skip


def _about_gram(path: str) -> dict[str, Any]:
    from ..files.kernels import gram_description  # on use, as well

    return gram_description(path) or {}


_ABOUT: dict[str, Callable[[str], dict[str, Any]]] = {
    "signatures": _about_signatures, "model": _about_model, "index": _about_index,
    "frequencies": lambda path: {
        "format": "frequencies", **_about_counts(ck.text.InverseDocumentFrequency.load(path)),
    },
    "gram": _about_gram,
}  # fmt: skip
