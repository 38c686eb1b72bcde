"""Shard folders: hashed rows in `part-00000.safetensors`, `part-00001.safetensors` and so on.

While a folder is being written it holds a marker, `.unfinished.json`, that says from which
part on its contents do not count yet, and what they are made of. A killed run leaves the
marker: readers then see what stood there before, and the next writer goes on from the last
whole part or clears the rest away.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._core.arguments import PathLike
from ..errors import FileError, RecipeMismatch
from ..io.atomic import atomic_write, locked, naming_target
from ..io.containers import parse_json
from ..io.npy import Pieces
from ..io.provenance import Origin, require_fit, whole_number
from ..io.signature_file import pack_labels, read_signatures, write_signatures
from ..recipe import Recipe
from ..signatures import Signatures

MARKER = ".unfinished.json"
_ours = re.compile(
    r"part-\d+\.safetensors|\.part-\d+\.safetensors\.[0-9a-f]{16}\.part"
    r"|\.unfinished\.json|\.\.unfinished\.json\.[0-9a-f]{16}\.part"
)


def part_name(number: int) -> str:
    """File name of a part.

    >>> part_name(3)
    'part-00003.safetensors'
    """
    return f"part-{number:05d}.safetensors"


def is_shard_folder(path: PathLike) -> bool:
    """Whether a folder holds parts, or is about to."""
    folder = Path(path)
    return folder.is_dir() and ((folder / part_name(0)).exists() or (folder / MARKER).exists())


def part_files(path: PathLike) -> list[Path]:
    """The parts of a shard folder in order; a signature file is its own only part."""
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    first = _first_unfinished(folder)
    files = _numbered(folder, first)
    if first is not None and not files:
        raise FileError(f"{folder}: left by an unfinished run; resume that, or hash anew.")
    if not files:
        raise FileError(f"{folder}: holds no {part_name(0)}; give a file or a shard folder.")
    return files


def is_finished(folder: PathLike) -> bool:
    """Whether a shard folder holds parts, and no run is unfinished there."""
    return is_shard_folder(folder) and _first_unfinished(Path(folder)) is None


def has_parts(path: PathLike) -> bool:
    """Whether there is a signature file, or a folder with parts of a run that has ended."""
    folder = Path(path)
    return folder.is_file() or (is_shard_folder(folder) and _first_unfinished(folder) != 0)


def shard_size(folder: Path) -> int:
    """Rows of each part but the last."""
    marker = _read_marker(folder)
    return len(Signatures.load(folder / part_name(0))) if marker is None else marker["shard_rows"]


def write_part(
    path: Path, recipe: Recipe, signatures: Sequence[Signatures], labels: Any, origin: Origin,
    **options: bool,
) -> None:  # fmt: skip
    """Write signatures, one below the other, as one file; options of `write_signatures`."""
    arrays = {name: Pieces([S.arrays()[name] for S in signatures]) for name in recipe.arrays}
    packed, classes = (None, None) if labels is None else pack_labels(labels, origin.rows)
    write_signatures(path, recipe, arrays, packed, classes, [origin], **options)


class ShardWriter:
    """Takes signatures of a source for a folder, in parts of `shard_rows` but for the last.

    With `resume` it goes on after the whole parts that a killed run of the same job left, with
    `append` after all that are there. `target` is what errors name, the folder unless given.
    """

    def __init__(
        self, folder: PathLike, recipe: Recipe, source: str, shard_rows: int, *,
        resume: bool = False, append: bool = False, target: Path | None = None,
    ) -> None:  # fmt: skip
        self.folder, self.recipe = Path(folder), recipe
        self.source, self.shard_rows = source, shard_rows
        self.resume, self.append = resume, append
        self.target = self.folder if target is None else target
        self.parts: list[Path] = []
        self.rows_before = 0
        self._first, self._marked = 0, False

    @contextlib.contextmanager
    def writing(self) -> Iterator["ShardWriter"]:
        """The folder under lock; the marker goes once the block has ended well.

        After an error the marker stays with the parts that were finished, for a later
        run to resume; a folder in which nothing was finished goes.
        """
        self._require_room()
        with naming_target(self.target):
            hidden = self.target != self.folder  # it may belong to a file that others may not read
            self.folder.mkdir(0o700 if hidden else 0o777, parents=False, exist_ok=True)
            with locked(self.folder):
                try:
                    self._begin()
                    yield self
                except BaseException:
                    if self._marked and self._is_nothing_finished():
                        self.discard()
                    raise
                self._sweep()
                (self.folder / MARKER).unlink(missing_ok=True)

    def write(self, signatures: Sequence[Signatures], labels: Any, origin: Origin) -> None:
        """Write the next part, of signatures one below the other, with where they came from."""
        path = self.folder / part_name(self._first + len(self.parts))
        durable = self.target == self.folder
        write_part(path, self.recipe, signatures, labels, origin, durable=durable)
        self.parts.append(path)

    def discard(self) -> None:
        """Delete what this run has made; inside `writing` only."""
        for path in reversed(self.parts):
            path.unlink(missing_ok=True)
        (self.folder / MARKER).unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _require_room(self) -> None:
        """Refuse a folder of finished parts, or one that holds something else."""
        if self.target != self.folder and self.folder.is_symlink():
            raise FileError(f"{self.folder}: is a symbolic link; remove it, parts gather there.")
        if self.folder.exists() and not self.folder.is_dir():
            raise FileError(f"{self.folder}: is a file; name a new folder for the shards.")
        if not self.folder.is_dir():
            return
        if any(_ours.fullmatch(path.name) is None for path in self.folder.iterdir()):
            raise FileError(f"{self.folder}: holds other files; name a new folder for the shards.")
        finished = (self.folder / part_name(0)).exists() and _first_unfinished(self.folder) != 0
        if finished and not self.append:
            raise FileError(
                f"{self.folder}: holds shards already; remove it, name another folder, "
                "or append to it."
            )

    def _begin(self) -> None:
        old = _read_marker(self.folder)
        files = _numbered(self.folder, None if old is None else int(old["first_part"]))
        self._first = len(files)
        if files:
            require_recipe(files[0], self.recipe)
        job = {
            "recipe": self.recipe.asdict(), "source": self.source, "shard_rows": self.shard_rows,
        }  # fmt: skip
        left = [path for path in _in_order(self.folder) if path not in files]
        if self.resume and old is not None:
            _require_same_job(self.folder, old, job)
            self.parts = self._whole(left)
            self.rows_before = len(self.parts) * self.shard_rows
        with atomic_write(self.folder / MARKER) as file:
            text = json.dumps({"first_part": self._first, **job}, sort_keys=True)
            file.write(text.encode())
        self._marked = True
        for path in set(left) - set(self.parts):
            path.unlink()
        self._sweep()

    def _is_nothing_finished(self) -> bool:
        """Whether this run has finished no part, and nobody else can finish one."""
        return not self.parts

    def _sweep(self) -> None:
        """Remove what killed writers of parts left."""
        for path in self.folder.glob(".part-*.safetensors.*.part"):
            path.unlink(missing_ok=True)

    def _whole(self, files: list[Path]) -> list[Path]:
        """The parts a killed run has finished: all but a short one at the end."""
        whole: list[Path] = []
        for path in files:
            expected = part_name(self._first + len(whole))
            if path.name != expected or len(Signatures.load(path)) != self.shard_rows:
                break
            whole.append(path)
        return whole


def require_recipe(path: Path, recipe: Recipe) -> None:
    """Refuse a file of signatures that were hashed by another recipe."""
    found = read_signatures(path).recipe
    if found != recipe:
        raise RecipeMismatch(found, recipe)


def _numbered(folder: Path, count: int | None) -> list[Path]:
    """Parts 0, 1, 2 and so on, as many as count; a gap among them is an error."""
    found = _in_order(folder)[:count]
    for number in range(len(found) if count is None else count):
        if number >= len(found) or found[number].name != part_name(number):
            raise FileError(f"{folder}: {part_name(number)} is missing; copy the folder again.")
    return found


def _in_order(folder: Path) -> list[Path]:
    """All parts by their numbers, which have more than five digits where parts are many."""
    parts = folder.glob("part-*.safetensors")
    return sorted(parts, key=lambda path: (len(path.name), path.name))


def _first_unfinished(folder: Path) -> int | None:
    """Number of the first part of an unfinished run; None if no run is unfinished."""
    marker = _read_marker(folder)
    return None if marker is None else int(marker["first_part"])


def _read_marker(folder: Path) -> dict[str, Any] | None:
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


def _require_same_job(folder: Path, old: dict[str, Any], job: dict[str, Any]) -> None:
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
