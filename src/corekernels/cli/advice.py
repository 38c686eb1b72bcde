"""Commands that answer questions: advise, version."""

import platform
import sys
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import corekernels

from .. import files, plotting
from ..advice.verdict import advise as advise_on
from ..recipe import CONTRACT_VERSION
from . import frame
from .frame import command
from .progress import watched

_SHOWN = ("numpy", "scipy", "scikit-learn", "numba", "safetensors")


@command("corekernels advise train.svm --rows 300 --size 64 --size 256 --cv 3")
def advise(
    source: frame.Source,
    rows: Annotated[int, typer.Option(help="Rows of the sample.")] = 2000,
    size: Annotated[
        list[int] | None,
        typer.Option(help="Number of hashes to try; may be repeated.  [default: 256, 1024, 4096]"),
    ] = None,
    cv: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 5,
    most_read: Annotated[
        int, typer.Option(help="Rows of IN to read at most, to draw the sample from.")
    ] = 200_000,
    plot: Annotated[
        Path | None, typer.Option(metavar="FIGURE", help="Draw it: .png, .svg or .pdf.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample, the folds and the hash.")] = 0,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Say whether CoRE kernels help on the labelled rows of IN, after comparing on a sample."""
    if plot is not None:
        plotting.require_figure(plot)
    reader = files.open_source(source, format=format, n_columns=n_columns, one_based=one_based)
    with watched(reader, "reading", quiet) as batches:
        X, y = files.sample(batches, 10 * rows, most_read=most_read, seed=seed, labelled=True)
    frame.show_notes(reader, quiet)
    console = Console(stderr=True)
    with console.status("") as status:
        found = advise_on(
            X, y, n_rows=rows, sizes=size or (256, 1024, 4096), cv=cv, random_state=seed,
            n_jobs=n_jobs,
            progress=None if quiet or not sys.stderr.isatty() else status.update,
        )  # fmt: skip
    if plot is not None:
        plotting.save_figure(plotting.draw_advice(found), plot)
    if as_json:
        frame.show(asdict(found), True)
        return
    if not quiet:
        for note in found.notes:
            print(f"note: {note}", file=sys.stderr)
    table = [
        [c.name, f"{c.accuracy:.4f}", f"{c.standard_error:.4f}", f"{100 * c.gain:+.1f}",
         f"{100 * c.gain_error:.1f}", f"{c.C:g}", f"{c.seconds:.1f}"]
        for c in found.candidates
    ]  # fmt: skip
    columns = ["", "accuracy", "+-", "gain (points)", "+-", "C", "seconds"]
    frame.show_table(columns, table)
    print(f"\n{found.sentence}")


@command("corekernels version --json")
def version(as_json: frame.AsJson = False) -> None:
    """Versions of this package, of its hash contract and of what it stands on."""
    versions = {"corekernels": corekernels.__version__, "hash_contract": CONTRACT_VERSION}
    versions |= {"python": platform.python_version()}
    frame.show(versions | {name: metadata.version(name) for name in _SHOWN}, as_json)
