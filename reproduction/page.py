"""The content of the page, drawn from the records of the experiments."""

from collections.abc import Mapping

from corekernels.report.layout import Figure, Report, Section

from .experiments import (
    baselines,
    core_rbf,
    exponential,
    figure3,
    figure4,
    schemes,
    search,
    tables,
    usps,
)
from .experiments.experiment import Experiment, Record, Records
from .experiments.published import DATA_SETS, KERNELS

_ALL = (
    tables.LINEAR_EXPERIMENT, tables.KERNEL_EXPERIMENT, usps.EXPERIMENT, figure3.EXPERIMENT,
    figure4.EXPERIMENT, exponential.EXPERIMENT, core_rbf.EXPERIMENT, schemes.EXPERIMENT,
    search.EXPERIMENT, baselines.EXPERIMENT,
)  # fmt: skip
EXPERIMENTS: Mapping[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
BEYOND = "Beyond the paper"  # begins the titles of what the paper does not measure


def make_report(records: Records, experiments: Mapping[str, Experiment] = EXPERIMENTS) -> Report:
    """The page's content, from the records alone."""
    first = next(iter(next(iter(records.values())).values()))
    sections = [_section(experiments[name], records, first) for name in records]
    facts = {"seed": str(first["seed"]), "scale": first["scale"]}
    parts = [record for found in records.values() for record in found.values()]
    for name in first["machine"] | first["versions"]:
        values = dict.fromkeys((part["machine"] | part["versions"])[name] for part in parts)
        facts[name] = ", ".join(values)
    lead = (
        "Ping Li's CoRE kernels (UAI 2014) multiply correlation and resemblance: strong on "
        "sparse, non-binary data, without a parameter to tune, and simple to hash. "
    ) + _what_was_done(records, first["scale"])
    if any(section.title.startswith(BEYOND) for section in sections):
        lead += f" The sections “{BEYOND}” measure more than it does."
    return Report("CoRE kernels, reproduced", [lead], sections, facts, KERNELS)


def _what_was_done(records: Records, scale: str) -> str:
    """What the page shows, which depends on the data that were measured."""
    measured = {part for name in ("table1", "table2") for part in records.results(name)}
    if measured & set(DATA_SETS):
        return (
            "This page reruns the paper's experiments with corekernels and shows the results "
            "beside the paper's."
        )
    if scale == "quick":
        return (
            "This page runs the paper's experiments with corekernels on scikit-learn's digits, "
            "which are not among the paper's data sets; `make reproduction` runs "
            "them on those and shows the results beside the paper's."
        )
    return "This page reruns experiments of the paper with corekernels."


def _section(experiment: Experiment, records: Records, run: Record) -> Section:
    """An experiment's section, without tables and figures of which nothing was measured."""
    measured = [record for record in records[experiment.name].values() if "timings" in record]
    drawn = experiment.draw(records)
    command = f"python -m reproduction {experiment.name}"
    return Section(
        experiment.name,
        experiment.title,
        [drawn.text if measured else "Nothing was measured here; the notes say why."],
        [table for table in drawn.tables if table.rows],
        [figure for figure in drawn.figures if _has_points(figure)],
        records.notes(experiment.name),
        seconds=sum(record["timings"]["all"] for record in measured),
        command=f"{command} --scale {run['scale']} --seed {run['seed']}",
    )


def _has_points(figure: Figure) -> bool:
    return any(len(line.x) for panel in figure.panels for line in panel.lines)
