"""Jobs on files larger than memory: hash, learn, judge, estimate, search, deduplicate.

Every function takes readers, from `open_source`, and goes through them batch by batch.
Files are written whole or not at all.
"""

from .conversion import convert, file_kind
from .deduplication import write_groups, write_kept, write_pairs
from .duplicates import FileDuplicates, near_duplicates
from .estimates import Estimates, estimate_pairs, nearest
from .grams import gram_description, kernel_to_file
from .hashing import HashReport, hash_to_file
from .judging import Evaluation, evaluate, label_text, predict, predictions
from .learning import sweep, train
from .matching import open_matching
from .searching import IndexReport, SearchReport, index_rows, search
from .sources import (
    SignatureReader,
    load_signatures,
    open_source,
    recipe_for,
    require_file,
    require_target,
    sources_of,
)
from .survey import Survey, sample, survey

__all__ = [
    "Estimates",
    "Evaluation",
    "FileDuplicates",
    "HashReport",
    "IndexReport",
    "SearchReport",
    "SignatureReader",
    "Survey",
    "convert",
    "estimate_pairs",
    "evaluate",
    "file_kind",
    "gram_description",
    "hash_to_file",
    "index_rows",
    "kernel_to_file",
    "label_text",
    "load_signatures",
    "near_duplicates",
    "nearest",
    "open_matching",
    "open_source",
    "predict",
    "predictions",
    "recipe_for",
    "require_file",
    "require_target",
    "sample",
    "search",
    "sources_of",
    "survey",
    "sweep",
    "train",
    "write_groups",
    "write_kept",
    "write_pairs",
]
