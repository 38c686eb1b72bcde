"""The whole run: stages measured item by item, kept as JSON, drawn into one page."""

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

import corekernels as ck

from ..datasets.places import FOLDER_VARIABLE, cache_folder
from ..errors import CoREError, FileError, ParameterError
from ..io import atomic_write
from ..report.drawing import require_matplotlib
from ..report.layout import Figure, Report, Section, Table
from ..report.writing import write_report
from .experiments import baselines, exponential, figure3, figure4, schemes, search, tables, usps
from .experiments.stages import Record, Records, Setting, Stage

STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        tables.LINEAR_STAGE,
        tables.KERNEL_STAGE,
        usps.STAGE,
        figure3.STAGE,
        figure4.STAGE,
        exponential.STAGE,
        schemes.STAGE,
        search.STAGE,
        baselines.STAGE,
    )
}
ALIASES = {"figure1": "table1", "figure2": "table2"}
SCALES = ("quick", "full")


@dataclass(frozen=True)
class Reproduction:
    """What a run left behind.

    Attributes
    ----------
    report : Path
        The page; its Markdown twin, figures and results lie beside it.
    records : Records
        What was measured, by stage and item.
    missing : list of str
        What could not be had or done; the report says why.
    seconds : float
    """

    report: Path
    records: Records
    missing: list[str]
    seconds: float

    def results(self) -> dict[str, dict[str, Record]]:
        """The numbers, by stage and item; the same for the same seed."""
        return {
            stage: {
                item: record["results"] for item, record in items.items() if "results" in record
            }
            for stage, items in self.records.items()
        }

    def tables(self) -> list[Table]:
        """All tables of the report."""
        return [
            table for name in self.records for table in STAGES[name].section(self.records).tables
        ]


def reproduce(
    what: Iterable[str] = (),
    *,
    out: str | os.PathLike[str],
    scale: str = "quick",
    folder: str | os.PathLike[str] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Rerun the paper's experiments and write a page that shows ours beside theirs.

    Parameters
    ----------
    what : names of stages
        Any of table1, table2 (with figure1, figure2), usps, figure3, figure4, exponential, schemes,
        search, baselines; all if empty.
    out : path
        Folder for `report.html`, `report.md`, figures, and the results as JSON files. Items
        measured there before, with the same scale, seed and versions, are not measured again.
    scale : {"quick", "full"}
        "quick": scikit-learn's digits, a minute. "full": the paper's data sets, three
        quarters of an hour on two cores.
    folder : path, optional
        Where the data are; COREKERNELS_DATA or a download if None. A data set that cannot
        be had is named in the report, and the rest goes on.
    seed : int
    n_jobs : int, optional
        Threads; None means all cores.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> import tempfile
    >>> from corekernels import paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = paper.reproduce(["table1"], out=folder, progress=False)
    ...     done.report.name, done.report.exists(), done.missing
    ('report.html', True, [])
    >>> max(done.results()["table1"]["digits"]["linear"]) > 90   # percent, best over C
    True
    """
    require_matplotlib()  # before the work, not after it
    chosen = _chosen(what)
    if scale not in SCALES:
        raise ParameterError(f"scale: got {scale!r}; choose one of {', '.join(SCALES)}.")
    named = os.environ.get(FOLDER_VARIABLE) if folder is None else folder
    data = Path(named).expanduser() if named else None
    if data is not None and not data.is_dir():
        raise FileError(f"{data}: is not a folder; name the one that holds the data sets.")
    setting = Setting(scale, seed, data, n_jobs)
    target = Path(out)
    start = time.perf_counter()
    items = [(stage, item) for stage in chosen for item in stage.items(setting)]
    if not items:
        raise ParameterError(f"what: nothing to do at scale {scale!r}; use scale 'full'.")
    results = target / "results" / f"{scale}-{setting.seed}"
    _make_folder(results)
    try:
        with tqdm(items, disable=None if progress is None else not progress, unit="item") as bar:
            for stage, item in bar:
                bar.set_description(f"{stage.name} {item}")
                _measured(stage, item, setting, results)
    finally:  # an interrupted run leaves a page of what it has
        records = read_records(results)
        if records:
            write_report(make_report(records), target)
    reasons = [why for stage in chosen for why in records.missing(stage.name).values()]
    missing = sorted({why.partition(":")[0] for why in reasons})
    seconds = time.perf_counter() - start
    return Reproduction(target / "report.html", records, missing, seconds)


def read_records(folder: Path) -> Records:
    """All records in a folder, in the order of the stages and their items, but the damaged."""
    records = Records()
    for name in STAGES:
        found = [_record(path) for path in folder.glob(f"{name}-*.json")]
        whole = sorted((record for record in found if record), key=lambda record: record["place"])
        if whole:
            records[name] = {record["item"]: record for record in whole}
    return records


def make_report(records: Records) -> Report:
    """The page's content, from the records alone."""
    first = next(iter(next(iter(records.values())).values()))
    sections = [_section(STAGES[name], records, first) for name in records]
    facts = {"seed": str(first["seed"]), "scale": first["scale"]}
    lead = (
        "Ping Li's CoRE kernels (UAI 2014) multiply correlation and resemblance: strong on "
        "sparse, non-binary data, without a parameter to tune, and simple to hash. This page "
        "reruns the paper's experiments with corekernels and shows ours beside theirs, then "
        "measures what the paper only proposes.",
    )
    facts |= first["machine"] | first["versions"]
    return Report("CoRE kernels, reproduced", lead, sections, facts)


def _chosen(what: Iterable[str]) -> list[Stage]:
    names = [ALIASES.get(name, name) for name in what] or list(STAGES)
    for name in names:
        if name not in STAGES:
            known = ", ".join([*STAGES, *ALIASES])
            raise ParameterError(f"what: got {name!r}; choose from {known}.")
    return [stage for name, stage in STAGES.items() if name in names]


def _measured(stage: Stage, item: str, setting: Setting, folder: Path) -> None:
    """Measure an item unless the folder has it already."""
    path = folder / f"{stage.name}-{_slug(item)}.json"
    identity = {
        "stage": stage.name, "item": item, "place": list(stage.items(setting)).index(item),
        "revision": stage.revision, "scale": setting.scale, "seed": setting.seed,
    }  # fmt: skip
    versions = _versions()
    if _is_done(path, {**identity, "versions": versions}):
        return
    start = time.perf_counter()
    record: Record = {**identity, "versions": versions, "machine": _machine()}
    try:
        results = stage.measure(item, setting)
    except CoREError as error:  # the report says why; the next run tries again
        record["missing"] = _without_places(str(error), setting)
    else:
        record["timings"] = {**results.pop("timings", {}), "all": time.perf_counter() - start}
        record["results"] = results
    with atomic_write(path) as file:
        file.write((json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def _without_places(message: str, setting: Setting) -> str:
    """A message that may leave this machine: folders by what they are for, not where they are."""
    places = {"the cache": cache_folder(), "the data folder": setting.folder}
    for name, place in places.items():
        message = message if place is None else message.replace(str(place), name)
    return message


def _is_done(path: Path, identity: dict[str, Any]) -> bool:
    record = _record(path)
    return "results" in record and all(record.get(key) == value for key, value in identity.items())


def _record(path: Path) -> Record:
    """What a file holds; nothing if it is damaged or not there."""
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) and {"stage", "item", "place"} <= set(record) else {}


def _section(stage: Stage, records: Records, run: Record) -> Section:
    """A stage's section, without what nothing was measured for."""
    measured = [record for record in records[stage.name].values() if "timings" in record]
    section = stage.section(records)
    return replace(
        section,
        text=section.text if measured else ["Nothing was measured here; the notes say why."],
        tables=[table for table in section.tables if table.rows],
        figures=[figure for figure in section.figures if _has_points(figure)],
        seconds=sum(record["timings"]["all"] for record in measured),
        command=f"corekernels reproduce {stage.name} --scale {run['scale']} --seed {run['seed']}",
    )


def _has_points(figure: Figure) -> bool:
    return any(len(line.x) for panel in figure.panels for line in panel.lines)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{folder}: cannot be made ({error.strerror}); choose another out."
        ) from error


def _slug(item: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in item.lower())


def _versions() -> dict[str, str]:
    names = ("numpy", "scipy", "scikit-learn", "numba")
    found = {name: importlib.metadata.version(name) for name in names}
    return {"corekernels": ck.__version__, "python": platform.python_version(), **found}


def _machine() -> dict[str, str]:
    return {"cores": str(os.cpu_count()), "system": f"{platform.system()} {platform.machine()}"}
