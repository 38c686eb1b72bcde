"""Commands on files: info, hash, convert."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import files, io
from ..classifier import CoREClassifier
from ..neighbors import CoRENeighbors
from . import frame
from .frame import command
from .progress import watched


@command("corekernels info train.svm")
def info(
    source: frame.AnySource,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Describe a file: its rows and the hashing they suggest, or what was made of rows."""
    kind = files.file_kind(source, format)
    if kind == "model":
        frame.show(_about_model(CoREClassifier.load(source)), as_json)
        return
    if kind == "index":
        frame.show(_about_index(CoRENeighbors.load(source)), as_json)
        return
    if kind == "gram":
        frame.show(files.gram_description(source) or {}, as_json)
        return
    reader = files.open_source(source, format=format, n_columns=n_columns, one_based=one_based)
    if kind == "signatures":
        frame.show(_about_signatures(reader), as_json)
        return
    with watched(reader, "reading", quiet) as rows:
        found = files.survey(rows, n_jobs=n_jobs)
    frame.show_notes(reader, quiet)
    if as_json:
        frame.show({"format": reader.format, **asdict(found)}, True)
        return
    frame.show({"format": reader.format, **_about_rows(found)}, False)


@command("corekernels hash train.svm train.sig --kernel core1 --n-hashes 256 --n-bits 8 --seed 0")
def hash_(
    source: frame.Source,
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Signature file, or shard folder.")],
    kernel: frame.Kernel = None,
    n_hashes: frame.Hashes = None,
    n_bits: frame.Bits = None,
    scheme: frame.Scheme = None,
    projection: frame.Projection = None,
    seed: frame.Seed = None,
    shard_rows: Annotated[
        int | None, typer.Option(help="Make OUT a folder of shards of this many rows.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after a killed run.")] = False,
    append: Annotated[bool, typer.Option("--append", help="Add to the rows in OUT.")] = False,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Hash the rows of IN into a signature file, in one pass and constant memory."""
    like = None
    if append and target.is_file():  # columns count from where they did
        like = files.sources_of(files.open_source(target, format="signatures"))
    reader = files.open_source(
        source, format=format, n_columns=n_columns, one_based=one_based, like=like
    )
    recipe = files.recipe_for(
        reader, kernel=kernel, n_hashes=n_hashes, n_bits=n_bits, scheme=scheme,
        projection=projection, seed=seed,
    )  # fmt: skip
    with watched(reader, "hashing", quiet) as rows:
        report = files.hash_to_file(
            rows, target, recipe, shard_rows=shard_rows, resume=resume, append=append,
            n_jobs=n_jobs,
        )  # fmt: skip
    frame.show_notes(reader, quiet)
    frame.show(asdict(report), as_json, quiet)


@command("corekernels convert train.svm train.npz")
def convert(
    source: frame.Source,
    target: Annotated[
        str, typer.Argument(metavar="OUT", help='File of rows; "-" writes svmlight.')
    ],
    to: Annotated[
        str | None, typer.Option(help="svmlight, npz, npy or parquet, if OUT does not tell.")
    ] = None,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Write the rows and labels of IN in another format."""
    reader = io.open_rows(source, format=format, n_columns=n_columns, one_based=one_based)
    with watched(reader, "converting", quiet) as rows:
        n_rows = files.convert(rows, target, format=to)
    frame.show_notes(reader, quiet)
    if target != "-":
        frame.show({"target": target, "rows": n_rows, "columns": reader.n_columns}, as_json, quiet)


def _about_rows(found: files.Survey) -> dict[str, Any]:
    lengths = " ".join(f"{name} {value:,.4g}" for name, value in found.row_lengths.items())
    plan = found.plan
    about: dict[str, Any] = {
        "rows": f"{found.rows:,} ({found.empty_rows:,} empty)",
        "columns": found.columns,
        "nonzeros": f"{found.nonzeros:,} (density {found.density:.3%})",
        "nonzeros_per_row": lengths,
        "values": f"{found.least:.4g} to {found.greatest:.4g}"
        + (", all equal" if found.binary else ""),
        "heaviness": f"{found.heaviness:.3g} (1 binary, about 2 TF-IDF, hundreds raw counts)",
    }
    if found.classes is not None:
        about["labels"] = f"{len(found.classes):,} classes"
    return about | {
        "suggested": f"--kernel {plan.kernel} --n-hashes {plan.n_hashes} --n-bits {plan.n_bits}",
        "because": found.reason,
        "error": f"{plan.error:.2g} on close pairs (confidence {plan.confidence:.0%})",
        "forecast": f"{(plan.n_bytes or 0) / 1e6:,.3g} MB of signatures, "
        f"{plan.seconds or 0:.2g} s of hashing",
    }


def _about_signatures(reader: Any) -> dict[str, Any]:
    about: dict[str, Any] = {"format": "signatures", "rows": reader.n_rows, "bytes": reader.n_bytes}
    return {**about, "parts": len(reader.parts), **reader.recipe.asdict()}


def _about_model(model: CoREClassifier) -> dict[str, Any]:
    classes = ", ".join(map(str, model.classes_[:10]))
    more = ", ..." if len(model.classes_) > 10 else ""
    about = {"format": "model", "classes": f"{len(model.classes_)} ({classes}{more})"}
    return about | {"loss": model.loss, "C": model.C} | model.recipe_.asdict()


def _about_index(index: CoRENeighbors) -> dict[str, Any]:
    about = {"format": "index", "rows": index.n_samples_fit_, "columns": index.n_features_in_}
    return about | {
        "kernel": index.kernel, "method": index.method_, "because": index.reason_,
        "n_neighbors": index.n_neighbors, "recall": index.recall,
        "estimated_recall": index.estimated_recall_,
    }  # fmt: skip
