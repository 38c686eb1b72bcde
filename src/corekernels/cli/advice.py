"""The command that compares learners: advise."""

from typing import Annotated, Any

from typer import Option

from .. import report
from ..advice import DEFAULT_SIZES, Advice
from ..advice import advise as advise_on
from ..advice.verdict import TASKS
from ..files.surveys import sample
from ..report.advice import advice_figure
from ..report.drawing import require_figure, save_figure
from . import options
from .app import command
from .printing import show, show_table

_SIZES = ", ".join(map(str, DEFAULT_SIZES))


@command(
    "corekernels advise train.svm --rows 300 --size 64 --size 256 --cv 3 --repeats 1 "
    "--page advice.html"
)
def advise(
    source: options.Rows,
    reading: options.Reading,
    output: options.Output,
    task: Annotated[
        str | None,
        Option(help=f"{options.one_of(TASKS)}; regression by default where labels have fractions."),
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
    plot: options.Figure = None,
    page: options.Page = None,
    seed: Annotated[int, Option(help="Seed of the sample, the folds and the hash.")] = 0,
    n_jobs: options.Jobs = None,
) -> None:
    """Say whether CoRE kernels help on the labelled rows of IN, after comparing on a sample."""
    if plot is not None:
        require_figure(plot, source)
    options.require_page(page, source, plot)
    reader = reading.open_rows(source, n_jobs=n_jobs)
    X, y = sample(
        reader, 10 * rows, most_read=most_read, seed=seed, labelled=True, progress=output.progress
    )
    output.show_notes(reader)
    result = advise_on(
        X, y, task=task, n_rows=rows, sizes=size, cv=cv, repeats=repeats,
        time_limit=time_limit, random_state=seed, n_jobs=n_jobs, progress=output.progress,
    )  # fmt: skip
    if plot is not None:
        save_figure(advice_figure(result), plot)
    if page is not None:
        report.write_page(report.advice_report(result, X, source, reading.given), page)
    if output.as_json:
        show(_as_json(result), True)
        return
    for note in result.notes:
        output.note(note)
    show_table(*result.table())
    print(f"\n{result.sentence}\n\n{result.best.code}")


def _as_json(advice: Advice) -> dict[str, Any]:
    """The same as dictionaries, with code in the place of estimators."""
    return {"helps": advice.helps} | vars(advice) | {
        "candidates": [vars(one) | {"estimator": one.code} for one in advice.candidates],
        "best": vars(advice.best) | {"estimator": advice.best.code},
        "confused": [vars(confusion) for confusion in advice.confused],
    }  # fmt: skip
