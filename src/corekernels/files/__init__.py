"""Jobs on files larger than memory: hash, learn, predict, estimate, search, deduplicate.

Every function takes readers, from `open_reader`, and goes through them batch by batch.
Files are written whole or not at all.
"""

from ..neighbors.duplicates.result import (
    FileDuplicates,
    FileMatches,
    write_groups,
    write_kept,
    write_pairs,
)
from .conversion import convert, file_kind
from .dedup import duplicates_by_parts, matches_by_parts, near_duplicates, near_matches
from .engines import ENGINES, DaskEngine, Engine, LocalEngine, SparkEngine, open_engine
from .estimates import Estimates, estimate_pairs, nearest
from .frequencies import count_frequencies
from .hashing import HashReport, hash_to_file
from .histogram import Histogram
from .kernels import gram_description, kernel_to_file
from .learning import sweep, train
from .matching import open_matching
from .plan import ROWS_PER_PART, Part, Plan, open_plan, plan_parts
from .prediction import Evaluation, RegressionEvaluation, evaluate, label_text, predict, predictions
from .readers import AnyReader, SignatureReader, load_signatures, open_reader, recipe_for
from .search import IndexReport, SearchReport, index_rows, search, search_texts
from .survey import Survey, sample, survey

__all__ = [
    "ENGINES", "ROWS_PER_PART", "AnyReader", "DaskEngine", "Engine", "Estimates", "Evaluation",
    "FileDuplicates", "FileMatches", "HashReport", "Histogram", "IndexReport", "LocalEngine",
    "Part", "Plan", "RegressionEvaluation", "SearchReport", "SignatureReader", "SparkEngine",
    "Survey", "convert", "count_frequencies", "duplicates_by_parts", "estimate_pairs", "evaluate",
    "file_kind", "gram_description", "hash_to_file", "index_rows", "kernel_to_file", "label_text",
    "load_signatures", "matches_by_parts", "near_duplicates", "near_matches", "nearest",
    "open_engine", "open_matching", "open_plan", "open_reader", "plan_parts", "predict",
    "predictions", "recipe_for", "sample", "search", "search_texts", "survey", "sweep", "train",
    "write_groups", "write_kept", "write_pairs",
]  # fmt: skip
