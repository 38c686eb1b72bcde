"""Commands on files: info, hash, convert, frequencies."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import corekernels as ck

from .. import files, report
from ..errors import ParameterError
from ..files.hashing import provenance_before, rows_per_part
from ..files.readers import SignatureReader
from ..io.atomic import require_target
from ..io.formats import format_names

if TYPE_CHECKING:
    from ..files.surveys import Survey
    from ..text import InverseDocumentFrequency
from .app import command
from .options import (
    Cluster,
    Hashing,
    Jobs,
    Output,
    Page,
    Reading,
    Resume,
    Rows,
    RowsOrSignatures,
    one_of,
    require_page,
)
from .printing import show


@command("corekernels info train.svm --page rows.html")
def info(
    source: RowsOrSignatures,
    reading: Reading,
    output: Output,
    page: Page = None,
    n_jobs: Jobs = None,
) -> None:
    """Describe a file: its rows and the hashing they suggest, or what was made of rows."""
    from ..files.kernels import file_kind  # on use: hashing does without

    require_page(page, source)
    kind = "rows" if reading.text else file_kind(source, reading.format)
    if page is not None and kind != "rows":
        raise ParameterError(f"--page: is for files of rows; {source} holds a file of {kind}.")
    if kind == "rows":
        reader = reading.open_rows(source, n_jobs=n_jobs)
        found = files.survey(reader, progress=output.progress, n_jobs=n_jobs)
        output.show_notes(reader)
        if page is not None:
            report.write_page(report.survey_report(found, source, reading.given), page)
        about = asdict(found) if output.as_json else _about_rows(found)
        if reading.text and not output.as_json:
            about["near-duplicates"] = "resemblance of 3-grams of words, 0.8 or more (dedup)"
        show({"format": reader.format, **about}, output.as_json)
    else:
        show(_ABOUT[kind](source), output.as_json)


@command("corekernels hash train.svm train.sig --kernel core1 --n-hashes 256 --n-bits 8 --seed 0")
def hash_(
    source: Rows,
    target: Annotated[Path, Argument(metavar="OUT", help="Signature file, or shard folder.")],
    hashing: Hashing,
    reading: Reading,
    output: Output,
    cluster: Cluster,
    shard_rows: Annotated[
        int | None, Option(help="Make OUT a folder of shards of this many rows.")
    ] = None,
    resume: Resume = False,
    append: Annotated[bool, Option("--append", help="Add to the rows in OUT.")] = False,
    n_jobs: Jobs = None,
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
    source: Rows,
    target: Annotated[str, Argument(metavar="OUT", help='File of rows; "-" writes svmlight.')],
    reading: Reading,
    output: Output,
    to: Annotated[
        str | None, Option(help=f"{one_of(format_names())}, if OUT does not tell.")
    ] = None,
    labels: Annotated[
        bool, Option("--labels/--no-labels", help="Whether to write labels; .npy has no place.")
    ] = True,
    n_jobs: Jobs = None,
) -> None:
    """Write the rows and labels of IN in another format."""
    reader = reading.open_rows(source, labels=labels, n_jobs=n_jobs)
    n_rows = files.convert(reader, target, format=to, progress=output.progress)
    about = {"target": target, "rows": n_rows, "columns": reader.n_columns}
    output.show(about, reader, target)


@command("corekernels frequencies train.svm train.idf")
def frequencies(
    source: Rows,
    target: Annotated[Path, Argument(metavar="OUT", help="File of counts, for --frequencies.")],
    reading: Reading,
    output: Output,
    max_columns: Annotated[
        int, Option(help="N-grams to keep count of, 16 bytes each; of more, the rarest are left.")
    ] = 1 << 22,
    n_jobs: Jobs = None,
) -> None:
    """Count in how many documents each n-gram occurs, to weigh them by their rarity.

    With --frequencies OUT, other commands multiply the value of an n-gram that occurs in df of
    n documents by log((1 + n) / (1 + df)) + 1.
    """
    reader = reading.open_rows(source, labels=False, n_jobs=n_jobs)
    require_target(target, source)
    found = files.count_frequencies(
        reader, target, max_columns=max_columns, progress=output.progress
    )
    output.show({"target": str(target), **_about_counts(found)}, reader)


def _about_rows(found: "Survey") -> dict[str, Any]:
    lengths = " ".join(f"{name} {value:,.4g}" for name, value in found.row_lengths.items())
    plan = found.plan
    about: dict[str, Any] = {
        "rows": f"{found.rows:,} ({found.empty_rows:,} empty)",
        "columns": found.columns,
        "nonzeros": f"{found.nonzeros:,} (density {found.density:.3%})",
        "nonzeros_per_row": lengths,
        "values": _range(found),
        "heaviness": f"{found.heaviness:.3g} (1 binary, about 2 TF-IDF, hundreds raw counts)",
    }
    if found.classes is not None:
        about["labels"] = f"{len(found.classes):,} classes"
        about["learn_on"] = _learn_on(found.rows)
    return about | {
        "suggested": f"--kernel {plan.kernel} --n-hashes {plan.n_hashes} --n-bits {plan.n_bits}",
        "because": found.reason,
        "error": f"{plan.error:.2g} on close pairs (confidence {plan.confidence:.0%})",
        "memory": f"{(plan.n_bytes or 0) / 1e6:,.3g} MB of signatures",
    }


def _range(found: "Survey") -> str:
    """The values that are not 0."""
    if not found.nonzeros:
        return "all 0"
    return f"{found.least:.4g} to {found.greatest:.4g}" + (", all equal" if found.binary else "")


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


def _about_counts(found: "InverseDocumentFrequency") -> dict[str, Any]:
    return {
        "documents": found.n_documents_, "columns": len(found.columns_), "error": found.error_,
        "digest": found.digest(), **(found.settings_.asdict() if found.settings_ else {}),
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
