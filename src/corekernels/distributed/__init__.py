"""Jobs on many machines: parts of the data, tasks on one part each, and engines that run them.

`plan_parts` cuts files into parts; `open_engine` is Dask, Spark or this process; the jobs run a
task on each part and put the results together. Results are those of one machine.
"""

from .columns import FrameColumns, signatures_of_table
from .dask_frames import hash_dask_blocks
from .hashing import hash_parts, rows_per_part
from .learner import Round
from .learning import ROWS_FOR_ONE_MACHINE, TrainReport, merge_and_train, train_parts
from .prediction import evaluate_parts, predict_parts, search_parts
from .spark_frames import hash_spark_rows

__all__ = [
    "ROWS_FOR_ONE_MACHINE", "FrameColumns", "Round", "TrainReport", "evaluate_parts",
    "hash_dask_blocks", "hash_parts", "hash_spark_rows", "merge_and_train", "predict_parts",
    "rows_per_part", "search_parts", "signatures_of_table", "train_parts",
]  # fmt: skip
