"""The whole run: experiments measured part by part, then drawn into one page."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .._core.arguments import require_choice
from .._core.progress import progress_bar
from .._core.types import PathLike
from ..datasets.places import Places
from ..errors import FileError, ParameterError
from ..report import Report, Table, require_page, write_report
from . import SCALES
from .content import EXPERIMENTS, make_report
from .experiments.experiment import Experiment, Record, Records, Setting
from .records import measure_part, read_records

ALIASES = {"figure1": "table1", "figure2": "table2"}


@dataclass(frozen=True)
class Reproduction:
    """What a run left behind.

    Attributes
    ----------
    report : Path
        The page; its Markdown twin, figures and results lie beside it.
    content : Report
        What the page shows.
    records : Records
        What was measured, by experiment and part.
    missing : list of str
        What could not be measured; the report says why.
    seconds : float

    Examples
    --------
    >>> from corekernels import paper
    >>> found = paper.reproduce(out="reproduction")  # doctest: +SKIP
    >>> found.report, [table.caption for table in found.tables()]  # doctest: +SKIP
    """

    report: Path
    content: Report
    records: Records
    missing: list[str]
    seconds: float

    def results(self) -> dict[str, dict[str, Record]]:
        """The numbers, by experiment and part; the same for the same seed."""
        return {
            name: {part: record["results"] for part, record in parts.items() if "results" in record}
            for name, parts in self.records.items()
        }

    def tables(self) -> list[Table]:
        """All tables of the report."""
        return [table for section in self.content.sections for table in section.tables]


def reproduce(
    what: Iterable[str] = (), *, out: PathLike, scale: str = "quick",
    folder: PathLike | None = None, seed: int = 0, n_jobs: int | None = None,
    progress: bool | None = None, experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> Reproduction:  # fmt: skip
    """Rerun the paper's experiments and write a page with the results beside the paper's.

    Parameters
    ----------
    what : names of experiments
        Any of table1, table2 (with figure1, figure2), usps, figure3, figure4, exponential,
        core_rbf, schemes, search, baselines; all if empty.
    out : path
        Folder for `report.html`, `report.md`, figures, and the results as JSON files. Parts
        measured there before, with the same scale, seed and versions, are not measured again.
    scale : {"quick", "full"}
        Which data are used, and so how long it takes: `paper.SCALES` says both.
    folder : path, optional
        Where the data are; COREKERNELS_DATA or a download if None. A data set that cannot
        be found is named in the report, and the run continues without it.
    seed : int
    n_jobs : int, optional
        Threads; None means all cores.
    progress : bool, optional
        Whether to show a progress bar; None means where standard error is a terminal.
    experiments : mapping of str to Experiment
        All that can be run, by name.

    Examples
    --------
    >>> from corekernels import paper
    >>> done = paper.reproduce(["table1"], out="reproduction", progress=False)
    >>> done.report.name, done.report.exists(), done.missing
    ('report.html', True, [])
    >>> max(done.results()["table1"]["digits"]["linear"]) > 90   # percent, best over C
    True
    """
    require_page()  # before the work, not after it
    chosen = _chosen(what, experiments)
    require_choice("scale", scale, tuple(SCALES))
    setting = Setting(scale, seed, Places(folder).root(), n_jobs)
    target = Path(out)
    start = time.perf_counter()
    parts = [(experiment, part) for experiment in chosen for part in experiment.parts[scale]]
    if not parts:
        raise ParameterError(f"what: nothing to do at scale {scale!r}; use scale 'full'.")
    results = target / "results" / f"{scale}-{setting.seed}"
    _make_folder(results)
    try:
        with progress_bar(len(parts), "reproduce", "parts", progress) as bar:
            for experiment, part in parts:
                bar.set_description(f"{experiment.name} {part}")
                measure_part(experiment, part, setting, results)
                bar.update()
    finally:  # an interrupted run leaves a page of what it has
        records = read_records(results, experiments)
        if records:
            content = make_report(records, experiments)
            write_report(content, target)
    reasons = [why for experiment in chosen for why in records.missing(experiment.name).values()]
    missing = sorted({why.partition(":")[0] for why in reasons})
    seconds = time.perf_counter() - start
    return Reproduction(target / "report.html", content, records, missing, seconds)


def _chosen(what: Iterable[str], experiments: Mapping[str, Experiment]) -> list[Experiment]:
    names = [ALIASES.get(name, name) for name in what] or list(experiments)
    for name in names:
        if name not in experiments:
            known = ", ".join([*experiments, *ALIASES])
            raise ParameterError(f"what: got {name!r}; choose from {known}.")
    return [experiment for name, experiment in experiments.items() if name in names]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{folder}: cannot be made ({error.strerror}); choose another out."
        ) from error
