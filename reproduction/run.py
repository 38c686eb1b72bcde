"""The whole run: experiments measured part by part, then drawn into one page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from corekernels.errors import FileError, ParameterError
from corekernels.report import write_page
from corekernels.report.layout import Report

from .datasets.places import PathLike, Places
from .experiments.experiment import Experiment, Record, Records, Setting
from .markdown import write_markdown
from .page import EXPERIMENTS, make_report
from .records import measure_part, read_records

ALIASES = {"figure1": "table1", "figure2": "table2"}


@dataclass(frozen=True)
class Reproduction:
    """What a run left behind: the page and its content, and what was measured."""

    page: Path  # its Markdown twin, figures and results lie beside it
    content: Report
    records: Records
    missing: list[str]  # what could not be measured; the page says why

    def results(self) -> dict[str, dict[str, Record]]:
        """The numbers, by experiment and part; the same for the same seed."""
        return {
            name: {part: record["results"] for part, record in parts.items() if "results" in record}
            for name, parts in self.records.items()
        }


def reproduce(
    what: Iterable[str] = (), *, out: PathLike, scale: str = "quick",
    folder: PathLike | None = None, seed: int = 0, n_jobs: int | None = None,
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> Reproduction:  # fmt: skip
    """Rerun the paper's experiments and write a page with the results beside the paper's.

    Parameters
    ----------
    what : names of experiments
        All if empty; figure1 and figure2 belong to table1 and table2.
    out : path
        Folder for `report.html`, `report.md`, figures, and the results as JSON files. Parts
        measured there before, with the same scale, seed and versions, are not measured again.
    scale : {"quick", "full"}
        Which data are used, and so how long it takes: `SCALES` says both.
    folder : path, optional
        Where the data are; COREKERNELS_DATA or a download if None. A data set that cannot
        be found is named in the report, and the run continues without it.
    seed : int
    n_jobs : int, optional
        Threads; None means all cores.
    experiments : mapping of str to Experiment
        All that can be run, by name.
    """
    chosen = _chosen(what, experiments)
    setting = Setting(scale, seed, Places(folder).root(), n_jobs)
    target = Path(out)
    parts = [(experiment, part) for experiment in chosen for part in experiment.parts[scale]]
    if not parts:
        raise ParameterError(f"what: nothing to do at scale {scale!r}; use scale 'full'.")
    results = target / "results" / f"{scale}-{seed}"
    _make_folder(results)
    try:
        with tqdm(parts, "reproduce", unit="part", disable=None) as bar:  # in terminals
            for experiment, part in bar:
                bar.set_description(f"{experiment.name} {part}")
                measure_part(experiment, part, setting, results)
    finally:  # an interrupted run leaves a page of what it has
        records = read_records(results, experiments)
        if records:
            content = make_report(records, experiments)
            page = write_report(content, target)
    reasons = [why for experiment in chosen for why in records.missing(experiment.name).values()]
    missing = sorted({why.partition(":")[0] for why in reasons})
    return Reproduction(page, content, records, missing)


def write_report(report: Report, folder: Path) -> Path:
    """Write `report.html`, `report.md` and `figures/*.svg` into a folder. Returns the page."""
    write_markdown(report, folder)
    return write_page(report, folder / "report.html")


def _chosen(what: Iterable[str], experiments: Mapping[str, Experiment]) -> list[Experiment]:
    names = [ALIASES.get(name, name) for name in what] or list(experiments)
    for name in names:
        if name not in experiments:
            choices = ", ".join([*experiments, *ALIASES])
            raise ParameterError(f"what: got {name!r}; choose from {choices}.")
    return [experiment for name, experiment in experiments.items() if name in names]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{folder}: cannot be made ({error.strerror}); choose another out."
        ) from error
