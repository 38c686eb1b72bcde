from ..neighbors.duplicates.result import (
    write_groups as write_groups,
    write_pairs as write_pairs,
)
from ..text.frequencies import count_frequencies as count_frequencies
from .kernels import (
    estimate_pairs as estimate_pairs,
    kernel_to_file as kernel_to_file,
    nearest as nearest,
)
from .lines import convert as convert
from .searching import index_rows as index_rows, search as search, search_texts as search_texts
from .surveys import survey as survey
from .dedup import (
    near_duplicates as near_duplicates,
)
from .engines import Engine as Engine, open_engine as open_engine
from .engines.frames import (
    hash_dask_frame as hash_dask_frame,
    hash_spark_frame as hash_spark_frame,
    signatures_of_table as signatures_of_table,
)
from .hashing import hash_to_file as hash_to_file
from .learning import train as train
from .prediction import evaluate as evaluate, predict as predict
from .readers import load_signatures as load_signatures
from .sources import open_reader as open_reader, plan_parts as plan_parts
