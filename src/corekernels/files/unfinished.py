"""The marker of an unfinished run in a shard folder."""

from pathlib import Path
from typing import Any

from ..errors import FileError
from ..io.container_header import parse_json
from ..io.fields import require_fit, whole_number

MARKER = ".unfinished.json"


def first_unfinished(folder: Path) -> int | None:
    """Number of the first part of an unfinished run; None if no run is unfinished."""
    marker = read_marker(folder)
    return None if marker is None else int(marker["first_part"])


def read_marker(folder: Path) -> dict[str, Any] | None:
    """What the marker of an unfinished run says, if there is one."""
    try:
        text = (folder / MARKER).read_bytes()
    except FileNotFoundError:
        return None
    try:
        marker: dict[str, Any] = parse_json(text)
        whole_number(marker["first_part"], 0, 2**31, "first_part")
        whole_number(marker["shard_rows"], 1, 2**63, "shard_rows")
        fits = isinstance(marker["recipe"], dict) and isinstance(marker["source"], str)
        require_fit(fits, "the job is damaged")
    except (ValueError, KeyError, TypeError):
        raise FileError(f"{folder}: its {MARKER} is damaged; remove the folder.") from None
    return marker


def require_same_job(folder: Path, old: dict[str, Any], job: dict[str, Any]) -> None:
    recipes = {**old.get("recipe", {})}, job["recipe"]
    differing = [f"{name} {recipes[0].get(name)!r}" for name in recipes[1]
                 if recipes[0].get(name) != recipes[1][name]]  # fmt: skip
    differing += [f"{name} {old[name]!r}" for name in ("source", "shard_rows")
                  if old[name] != job[name]]  # fmt: skip
    if differing:
        raise FileError(
            f"{folder}: the unfinished run had {', '.join(differing)}; resume it with the same, "
            "or hash anew without resuming."
        )
