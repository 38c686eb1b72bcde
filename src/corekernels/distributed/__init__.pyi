from .columns import FrameColumns as FrameColumns, signatures_of_table as signatures_of_table
from .dask_frames import hash_dask_blocks as hash_dask_blocks
from .hashing import hash_parts as hash_parts, rows_per_part as rows_per_part
from .learner import Round as Round
from .learning import (
    TrainReport as TrainReport,
    merge_and_train as merge_and_train,
    train_parts as train_parts,
)
from .prediction import (
    evaluate_parts as evaluate_parts,
    predict_parts as predict_parts,
    search_parts as search_parts,
)
from .spark_frames import hash_spark_rows as hash_spark_rows
