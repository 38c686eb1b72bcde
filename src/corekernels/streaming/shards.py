"""Shard folders: hashed rows in `part-00000.safetensors`, `part-00001.safetensors` and so on.

While a folder is being written it holds a marker, `.unfinished.json`, that says from which
part on its contents do not count yet, and what they are made of. A killed run leaves the
marker: readers then see what stood there before, and the next writer goes on from the last
whole part or clears the rest away.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..io import atomic_write
from ..io.atomic import part_path
from ..recipe import Recipe
from ..signatures import Signatures

try:
    import fcntl
except ImportError:  # no such lock on Windows
    fcntl = None  # type: ignore[assignment]

_MARKER = ".unfinished.json"
_ours = re.compile(
    r"part-\d+\.safetensors|\.part-\d+\.safetensors\.part|\.+unfinished\.json(\.part)?"
)


def part_name(number: int) -> str:
    """File name of a part.

    >>> part_name(3)
    'part-00003.safetensors'
    """
    return f"part-{number:05d}.safetensors"


def is_shard_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds parts, or is about to."""
    folder = Path(path)
    return folder.is_dir() and ((folder / part_name(0)).exists() or (folder / _MARKER).exists())


def part_files(path: str | os.PathLike[str]) -> list[Path]:
    """The parts of a shard folder in order; a signature file is its own only part."""
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    first = _first_unfinished(folder)
    files = _numbered(folder)
    if first is not None:
        files = files[:first]
        if not files:
            raise FileError(f"{folder}: left by an unfinished run; resume that, or hash anew.")
    if not files:
        raise FileError(f"{folder}: holds no {part_name(0)}; give a file or a shard folder.")
    return files


def is_finished(folder: str | os.PathLike[str]) -> bool:
    """Whether a shard folder holds parts, and no run is unfinished there."""
    return is_shard_folder(folder) and _first_unfinished(Path(folder)) is None


def shard_size(folder: Path) -> int:
    """Rows of each part but the last."""
    marker = _read_marker(folder)
    return len(Signatures.load(folder / part_name(0))) if marker is None else marker["shard_rows"]


class ShardWriter:
    """Takes signatures for a folder, part by part.

    Parameters
    ----------
    folder : path
    recipe : Recipe
    source : str
        Name of what is hashed.
    shard_rows : int
        Rows of every part but the last.
    resume : bool
        Go on after the whole parts that a killed run of the same job left.
    append : bool
        Keep the parts that are there, and go on after them.
    target : path, optional
        What errors name; the folder unless given.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        recipe: Recipe,
        source: str,
        shard_rows: int,
        *,
        resume: bool = False,
        append: bool = False,
        target: Path | None = None,
    ) -> None:
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
        try:
            self.folder.mkdir(parents=False, exist_ok=True)
            with _locked(self.folder):
                try:
                    self._begin()
                    yield self
                except BaseException:
                    if self._marked and not self.parts:
                        self.discard()
                    raise
                (self.folder / _MARKER).unlink(missing_ok=True)
        except FileError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise FileError(
                f"{self.target}: cannot be written ({reason}); what was there is unchanged."
            ) from error

    def write(self, S: Signatures, labels: Any, entry: dict[str, Any]) -> None:
        """Write the next part, with where its rows came from."""
        path = self.folder / part_name(self._first + len(self.parts))
        S.save(path, labels=labels, sources=[entry])
        self.parts.append(path)

    def discard(self) -> None:
        """Take away what this run has made; inside `writing` only."""
        for path in reversed(self.parts):
            path.unlink(missing_ok=True)
        (self.folder / _MARKER).unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _require_room(self) -> None:
        """Refuse a folder of finished parts, or one that holds something else."""
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
        job = {
            "recipe": self.recipe.asdict(), "source": self.source, "shard_rows": self.shard_rows,
        }  # fmt: skip
        old = _read_marker(self.folder)
        files = _numbered(self.folder)
        self._first = len(files) if old is None else int(old["first_part"])
        self._require_alike(files[: self._first])
        left = files[self._first :]
        if self.resume and old is not None:
            _require_same_job(self.folder, old, job)
            self.parts = self._whole(left)
            self.rows_before = len(self.parts) * self.shard_rows
        with atomic_write(self.folder / _MARKER) as file:
            text = json.dumps({"first_part": self._first, **job}, sort_keys=True)
            file.write(text.encode())
        self._marked = True
        for path in left[len(self.parts) :]:
            path.unlink()
        for path in self.folder.glob(part_path(Path("part-*.safetensors")).name):
            path.unlink()

    def _whole(self, files: list[Path]) -> list[Path]:
        """The parts a killed run has finished: all but a short one at the end."""
        whole = []
        for path in files:
            if len(Signatures.load(path)) != self.shard_rows:
                break
            whole.append(path)
        return whole

    def _require_alike(self, files: list[Path]) -> None:
        if files:
            S = Signatures.load(files[0])
            S._alike(Signatures.empty(self.recipe, 0))


def _numbered(folder: Path) -> list[Path]:
    """Parts 0, 1, 2 and so on, as far as they go; a gap is an error."""
    found = sorted(folder.glob("part-*.safetensors"))
    for number, path in enumerate(found):
        if path.name != part_name(number):
            raise FileError(f"{folder}: {part_name(number)} is missing; copy the folder again.")
    return found


def _first_unfinished(folder: Path) -> int | None:
    """Number of the first part that does not count yet; None if all do."""
    marker = _read_marker(folder)
    return None if marker is None else int(marker["first_part"])


def _read_marker(folder: Path) -> dict[str, Any] | None:
    """What the marker of an unfinished run says, if there is one."""
    try:
        marker: dict[str, Any] = json.loads((folder / _MARKER).read_bytes())
        int(marker["first_part"]), marker["recipe"], marker["source"], marker["shard_rows"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise FileError(f"{folder}: its {_MARKER} is damaged; remove the folder.") from None
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


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second writer out, where the system can."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise FileError(f"{folder}: another process is writing it; wait for that to end.") from None
    finally:
        os.close(handle)
