"""Jobs on files larger than memory: hash, learn, predict, judge, estimate, describe.

Every function takes readers, from `open_source`, and goes through them batch by batch.
Files are written whole or not at all.
"""

from .conversion import convert, file_kind
from .estimates import Estimates, estimate_pairs, nearest
from .grams import gram_description, kernel_to_file
from .hashing import HashReport, hash_to_file
from .judging import Evaluation, evaluate, label_text, predict, predictions
from .learning import sweep, train
from .matching import open_matching
from .sources import SignatureReader, load_signatures, open_source, recipe_for, sources_of
from .survey import Survey, sample, survey

__all__ = [
    "Estimates",
    "Evaluation",
    "HashReport",
    "SignatureReader",
    "Survey",
    "convert",
    "estimate_pairs",
    "evaluate",
    "file_kind",
    "gram_description",
    "hash_to_file",
    "kernel_to_file",
    "label_text",
    "load_signatures",
    "nearest",
    "open_matching",
    "open_source",
    "predict",
    "predictions",
    "recipe_for",
    "sample",
    "sources_of",
    "survey",
    "sweep",
    "train",
]
