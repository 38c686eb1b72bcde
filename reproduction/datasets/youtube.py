"""YouTube Multiview Video Games: videos of 31 classes, described by what is heard in them.

The paper takes "the largest set of features (audio)" and does not name the file. Of the
five audio views we take `audio_sai_boxes`, histograms of boxes cut from stabilised
auditory images: the one the authors of the data found the most informative. Its rows, 11,930
to train on and 97,934 to test on, are those of the official test and training parts (the
data's README counts one more in each), so the parts are swapped here.

No checksum is published; what is read is checked for the number of rows and the classes.
"""

import shutil
import tarfile
from pathlib import Path

from scipy import sparse

from corekernels.errors import FileError
from corekernels.io import atomic_write, read_rows

from .dataset import Array, Dataset, made, require_classes
from .download import Remote, fetch
from .places import Places

_PAGE = "UCI Machine Learning Repository, YouTube Multiview Video Games Dataset, in dir_data.tar"
_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/00269/dir_data.tar"
_ARCHIVE = Remote("dir_data.tar", _URL)
_FILES = ("test/audio_sai_boxes.txt.gz", "train/audio_sai_boxes.txt.gz")
_MOST_ROWS = (11_931, 97_935)
_N_CLASSES = 31


def youtube(places: Places, seed: int) -> Dataset:
    """Trains on the official test part, tests on the official training part."""
    folder = places.require("youtube", _FILES, _PAGE, _fetch)
    parts = [_read_part(folder / file, most) for file, most in zip(_FILES, _MOST_ROWS, strict=True)]
    n_columns = max(X.shape[1] for X, _ in parts)
    for X, _ in parts:
        X.resize(X.shape[0], n_columns)
    source = (
        "YouTube Multiview Video Games (UCI), view audio_sai_boxes, trained on the official "
        "test part, tested on the official training part."
    )
    return made("youtube", parts[0], parts[1], source)


def _read_part(path: Path, most: int) -> tuple[sparse.csr_array, Array]:
    """Rows with the column numbers of the file; videos without sound are not in it."""
    X, labels = read_rows(path, one_based=False)
    y = require_classes(path, labels, _N_CLASSES)
    if not 0.9 * most <= X.shape[0] <= most:
        found = f"has {X.shape[0]} rows where about {most} are due"
        raise FileError(f"{path}: {found}; remove it and fetch it again.")
    return X, y


def _fetch(folder: Path) -> None:
    """The two files out of the archive of 3 GB, which goes when they are there."""
    archive = fetch(_ARCHIVE, folder)
    try:
        with tarfile.open(archive) as tar:
            for file in _FILES:
                _unpack(tar, file, folder)
    except (tarfile.TarError, EOFError) as error:
        archive.unlink()
        raise FileError(f"{_ARCHIVE.url}: not a whole tar archive ({error}).") from error
    archive.unlink()


def _unpack(tar: tarfile.TarFile, file: str, folder: Path) -> None:
    member = next((name for name in tar.getnames() if name.endswith(f"/{file}")), None)
    content = None if member is None else tar.extractfile(member)
    if content is None:
        raise FileError(f"{folder / _ARCHIVE.file}: does not hold {file}; unpack it by hand.")
    (folder / file).parent.mkdir(exist_ok=True)
    with content, atomic_write(folder / file) as target:
        shutil.copyfileobj(content, target)
