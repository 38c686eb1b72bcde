"""The command that reruns the paper's experiments: reproduce."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..paper import SCALES
from .app import command
from .options import Jobs, Output
from .printing import show, show_table


@command("corekernels reproduce table1 table2 --out reproduction")
def reproduce(
    output: Output,
    what: Annotated[
        list[str] | None,
        Argument(
            metavar="[WHAT]...",
            help="table1, table2, usps, figure3, figure4, exponential, core_rbf, schemes, search, "
            "baselines; all unless given.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str, Option(help="; ".join(f"{scale}: {what}" for scale, what in SCALES.items()) + ".")
    ] = "quick",
    data: Annotated[
        Path | None,
        Option(help="Folder of the data sets; COREKERNELS_DATA or downloads unless given."),
    ] = None,
    out: Annotated[
        Path, Option(help="Folder of the report; what is measured there is not run again.")
    ] = Path("reproduction"),
    seed: Annotated[int, Option(help="Seed of everything drawn.")] = 0,
    n_jobs: Jobs = None,
) -> None:
    """Rerun the paper's experiments and write a page with the results beside the paper's."""
    from .. import paper  # scikit-learn's ensembles and more: half a second others do without

    done = paper.reproduce(
        what or (), scale=scale, folder=data, out=out, seed=seed, n_jobs=n_jobs,
        progress=output.progress,
    )  # fmt: skip
    summary = {"report": done.report, "seconds": done.seconds, "missing": done.missing}
    if output.as_json:
        show({**summary, "results": done.results()}, True)
    elif not output.quiet:
        for table in done.tables():
            print(table.caption)
            show_table(table.headings(), [[cell or "-" for cell in row] for row in table.rows])
            print()
        summary["missing"] = ", ".join(done.missing) or "nothing"
        show(summary, False)
