"""The command line: `python -m reproduction table1 figure4 --scale full`."""

import argparse
import sys
from pathlib import Path

import corekernels as ck

from .experiments.experiment import SCALES
from .markdown import grid
from .page import EXPERIMENTS
from .run import ALIASES, reproduce


def main() -> None:
    """Run what is asked for, and print the tables of the page."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    names = ", ".join([*EXPERIMENTS, *ALIASES])
    parser.add_argument("what", nargs="*", help=f"any of {names}; all unless given")
    scales = "; ".join(f"{scale}: {about}" for scale, about in SCALES.items())
    parser.add_argument("--scale", choices=SCALES, default="quick", help=scales)
    parser.add_argument(
        "--data", type=Path, help="folder of the data sets; COREKERNELS_DATA or downloads if none"
    )
    parser.add_argument(
        "--out", type=Path, default="build/reproduction",
        help="folder of the page; what is measured there is not run again",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of everything drawn")
    parser.add_argument("--n-jobs", type=int, help="threads; all cores unless given")
    options = parser.parse_args()
    try:
        done = reproduce(
            options.what, out=options.out, scale=options.scale, folder=options.data,
            seed=options.seed, n_jobs=options.n_jobs,
        )  # fmt: skip
    except ck.CoREError as error:
        sys.exit(f"error: {error}")
    for section in done.content.sections:
        for table in section.tables:
            print(f"{table.caption}\n\n{grid(table)}\n")
    print(f"missing: {', '.join(done.missing) or 'nothing'}\npage: {done.page}")


if __name__ == "__main__":
    main()
