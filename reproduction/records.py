"""Records of what was measured: one JSON file per part of an experiment.

A file is written as soon as its part is measured, so that an interrupted run loses one part at
most. What depends on the clock stands apart in it ("timings"): everything else is the same in
every run with the same seed.
"""

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path

import corekernels as ck
from corekernels.io import atomic_write

from .datasets.places import cache_folder
from .experiments.experiment import Experiment, Record, Records, Setting


def read_records(folder: Path, names: Iterable[str]) -> Records:
    """The undamaged records of these experiments in a folder, their parts in order."""
    records = Records()
    for name in names:
        found = [_record(path) for path in folder.glob(f"{name}-*.json")]
        whole = sorted((record for record in found if record), key=lambda record: record["place"])
        if whole:
            records[name] = {record["item"]: record for record in whole}
    return records


def measure_part(experiment: Experiment, part: str, setting: Setting, folder: Path) -> None:
    """Measure a part of an experiment unless the folder has its record already."""
    slug = "".join(letter if letter.isalnum() else "-" for letter in part.lower())
    path = folder / f"{experiment.name}-{slug}.json"
    identity = {
        "stage": experiment.name, "item": part,
        "place": list(experiment.parts[setting.scale]).index(part), "revision": experiment.revision,
        "scale": setting.scale, "seed": setting.seed, "versions": _versions(),
    }  # fmt: skip
    before = _record(path)
    if "results" in before and all(before.get(key) == value for key, value in identity.items()):
        return
    start = time.perf_counter()
    system = f"{platform.system()} {platform.machine()}"
    record: Record = {**identity, "machine": {"cores": str(os.cpu_count()), "system": system}}
    try:
        results = experiment.measure(part, setting)
    except ck.CoREError as error:  # the report says why; the next run tries again
        record["missing"] = _without_paths(str(error), setting)
    else:
        record["timings"] = {**results.pop("timings", {}), "all": time.perf_counter() - start}
        record["results"] = results
    with atomic_write(path) as file:
        file.write((json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def _without_paths(message: str, setting: Setting) -> str:
    """A message for other machines: folders by what they are for, not by their paths."""
    folders = {"the cache": cache_folder(), "the data folder": setting.folder}
    for name, folder in folders.items():
        message = message if folder is None else message.replace(str(folder), name)
    return message


def _record(path: Path) -> Record:
    """The record in a file; empty if it is damaged or not there."""
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) and {"stage", "item", "place"} <= set(record) else {}


def _versions() -> dict[str, str]:
    names = ("numpy", "scipy", "scikit-learn", "numba")
    found = {name: importlib.metadata.version(name) for name in names}
    return {"corekernels": ck.__version__, "python": platform.python_version(), **found}
