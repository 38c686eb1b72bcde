"""Commands that answer questions: advise, version."""

import platform
from dataclasses import asdict, fields
from importlib import metadata
from typing import Annotated, Any

from typer import Option

import corekernels

from .. import report
from ..advice import DEFAULT_SIZES, Advice, Candidate
from ..advice import advise as advise_on
from ..advice.verdict import TASKS
from ..files.surveys import sample
from ..recipe import CONTRACT
from ..report.advice import advice_figure
from ..report.drawing import require_figure, save_figure
from .app import command
from .options import Figure, Jobs, Output, Page, Reading, Rows, one_of, require_page
from .printing import show, show_table

_SIZES = ", ".join(map(str, DEFAULT_SIZES))
_SHOWN = ("numpy", "scipy", "scikit-learn", "numba")


@command(
    "corekernels advise train.svm --rows 300 --size 64 --size 256 --cv 3 --repeats 1 "
    "--page advice.html"
)
def advise(
    source: Rows,
    reading: Reading,
    output: Output,
    task: Annotated[
        str | None,
        Option(help=f"{one_of(TASKS)}; regression by default where labels have fractions."),
    ] = None,
    rows: Annotated[int, Option(help="Rows of the sample.")] = 2000,
    size: Annotated[
        list[int], Option(help="Number of hashes to try; may be repeated.", show_default=_SIZES)
    ] = list(DEFAULT_SIZES),  # noqa: B006
    cv: Annotated[int, Option(help="Folds of a round of cross-validation.")] = 5,
    repeats: Annotated[int, Option(help="Rounds of cross-validation.")] = 3,
    time_limit: Annotated[
        float,
        Option(help="Seconds; what would take longer learns from fewer rows, or is left out."),
    ] = 60.0,
    most_read: Annotated[
        int, Option(help="Rows of IN to read at most, to draw the sample from.")
    ] = 200_000,
    plot: Figure = None,
    page: Page = None,
    seed: Annotated[int, Option(help="Seed of the sample, the folds and the hash.")] = 0,
    n_jobs: Jobs = None,
) -> None:
    """Say whether CoRE kernels help on the labelled rows of IN, after comparing on a sample."""
    if plot is not None:
        require_figure(plot, source)
    require_page(page, source, plot)
    reader = reading.open_rows(source, n_jobs=n_jobs)
    X, y = sample(
        reader, 10 * rows, most_read=most_read, seed=seed, labelled=True, progress=output.progress
    )
    output.show_notes(reader)
    found = advise_on(
        X, y, task=task, n_rows=rows, sizes=size, cv=cv, repeats=repeats,
        time_limit=time_limit, random_state=seed, n_jobs=n_jobs, progress=output.progress,
    )  # fmt: skip
    if plot is not None:
        save_figure(advice_figure(found), plot)
    if page is not None:
        report.write_page(report.advice_report(found, X, source, reading.given), page)
    if output.as_json:
        show(_as_json(found), True)
        return
    for note in found.notes:
        output.note(note)
    show_table(*found.table())
    print(f"\n{found.sentence}\n\n{found.best.code}")


def _as_json(advice: Advice) -> dict[str, Any]:
    """The same as dictionaries, with code in the place of estimators."""
    facts = {field.name: getattr(advice, field.name) for field in fields(advice)}
    facts["candidates"] = [_candidate(candidate) for candidate in advice.candidates]
    facts["best"] = _candidate(advice.best)
    facts["confused"] = [asdict(confusion) for confusion in advice.confused]
    return {"helps": advice.helps, **facts}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    facts = {field.name: getattr(candidate, field.name) for field in fields(candidate)}
    return facts | {"estimator": candidate.code}


@command("corekernels version --json")
def version(output: Output) -> None:
    """Versions of this package, of its hash contract and of what it stands on."""
    versions = {"corekernels": corekernels.__version__, "hash_contract": CONTRACT}
    versions |= {"python": platform.python_version()}
    show(versions | {name: metadata.version(name) for name in _SHOWN}, output.as_json)
