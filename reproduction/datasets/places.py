"""Where the files of data sets stand: a folder of the user's, then a cache of downloads."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corekernels.errors import CoREError, FileError

PathLike = str | os.PathLike[str]

FOLDER_VARIABLE = "COREKERNELS_DATA"
CACHE_VARIABLE = "COREKERNELS_CACHE"


def cache_folder() -> Path:
    """Where downloads are kept: the folder COREKERNELS_CACHE names, or ~/.cache/corekernels."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "corekernels"


@dataclass(frozen=True)
class Places:
    """Where to look for files: in the user's folder, then in the cache."""

    folder: PathLike | None = None

    def find(self, name: str, files: tuple[str, ...]) -> Path | None:
        """The folder of data set `name` in which all of `files` stand."""
        for place in filter(None, (self.root(), cache_folder())):
            if all((place / name / file).is_file() for file in files):
                return place / name
        return None

    def require(
        self, name: str, files: tuple[str, ...], page: str, fetch: Callable[[Path], None]
    ) -> Path:
        """The same, after fetching if need be.

        `fetch` puts the files into a folder of the cache; an error names them and the
        page they are on.
        """
        if found := self.find(name, files):
            return found
        folder = cache_folder() / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            fetch(folder)
        except (OSError, ValueError) as error:  # scikit-learn's fetchers raise both
            own = isinstance(error, CoREError)
            reason = str(error) if own else f"{type(error).__name__}: {error}"
            raise self._missing(name, files, page, reason) from error
        return folder

    def root(self) -> Path | None:
        """The user's folder, if there is one."""
        named = os.environ.get(FOLDER_VARIABLE) if self.folder is None else self.folder
        if not named:
            return None
        root = Path(named).expanduser()
        if not root.is_dir():
            what = FOLDER_VARIABLE if self.folder is None else "folder"
            raise FileError(f"{what}: {root} is not a folder; name the one that holds the data.")
        return root

    def _missing(self, name: str, files: tuple[str, ...], page: str, reason: str) -> FileError:
        root = self.root()
        target = root / name if root else f"the folder {name!r} of one that {FOLDER_VARIABLE} names"
        return FileError(
            f"{name}: not found in {target}, nor in {cache_folder() / name}, and not to be had: "
            f"{reason.rstrip('.')}; "
            f"get {', '.join(files)} ({page}) by hand and put them into either."
        )
