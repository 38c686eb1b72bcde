"""Data sets of the experiments: from a local folder, from a download, or made anew.

`load` gives each of them in one form: unit-length float32 rows (CSR) and int64 labels,
split into a part to train on and a part to test on.
"""

from .catalog import NAMES, load
from .dataset import Dataset
from .images import m_rotate, rotate_images
from .mnist_files import mnist
from .news import word_counts
from .places import data_folder

__all__ = [
    "NAMES", "Dataset", "data_folder", "load", "m_rotate", "mnist", "rotate_images", "word_counts",
]  # fmt: skip
