"""Where the files of data sets stand."""

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError

FOLDER_VARIABLE = "COREKERNELS_DATA"


def data_folder(name: str) -> Path:
    """The folder of one data set, inside the one that COREKERNELS_DATA names."""
    root = os.environ.get(FOLDER_VARIABLE)
    if not root:
        raise FileError(f"{FOLDER_VARIABLE}: not set; let it name the folder that holds {name!r}.")
    folder = Path(root) / name
    if not folder.is_dir():
        raise FileError(f"{folder}: is not a folder; put the files of {name!r} there.")
    return folder


@dataclass(frozen=True)
class Places:
    """Where to look for files, in this order.

    Attributes
    ----------
    folder : path, optional
        Holds a folder for each data set; None means the one that COREKERNELS_DATA names.
    """

    folder: str | os.PathLike[str] | None = None

    def find(self, name: str, files: tuple[str, ...]) -> Path | None:
        """The folder of data set `name` in which all of `files` stand."""
        for folder in self._folders(name):
            if all((folder / file).is_file() for file in files):
                return folder
        return None

    def require(self, name: str, files: tuple[str, ...], page: str) -> Path:
        """The same, or an error that says what to fetch from `page` and where to put it."""
        return self.find(name, files) or self._fail(name, files, page)

    def _root(self) -> Path | None:
        named = os.environ.get(FOLDER_VARIABLE) if self.folder is None else self.folder
        if not named:
            return None
        root = Path(named)
        if not root.is_dir():
            what = FOLDER_VARIABLE if self.folder is None else "folder"
            raise FileError(f"{what}: {root} is not a folder; name the one that holds the data.")
        return root

    def _folders(self, name: str) -> list[Path]:
        root = self._root()
        return [] if root is None else [root / name]

    def _fail(self, name: str, files: tuple[str, ...], page: str) -> Path:
        root = self._root()
        target = f"the folder {name!r} of one that {FOLDER_VARIABLE} names"
        if root is not None:
            target = str(root / name)
        raise FileError(f"{name}: not found; put {', '.join(files)} ({page}) into {target}.")
