from .choice import ENGINES as ENGINES, open_engine as open_engine
from .columns import FrameColumns as FrameColumns, signatures_of_table as signatures_of_table
from .dask import DaskEngine as DaskEngine
from .dask_frames import hash_dask_blocks as hash_dask_blocks
from .duplicates import (
    duplicates_by_parts as duplicates_by_parts,
    matches_by_parts as matches_by_parts,
)
from .engines import Engine as Engine, LocalEngine as LocalEngine
from .hashing import hash_parts as hash_parts, rows_per_part as rows_per_part
from .learner import Round as Round
from .learning import (
    ROWS_FOR_ONE_MACHINE as ROWS_FOR_ONE_MACHINE,
    TrainReport as TrainReport,
    merge_and_train as merge_and_train,
    train_parts as train_parts,
)
from .plan import (
    ROWS_PER_PART as ROWS_PER_PART,
    Part as Part,
    Plan as Plan,
    plan_parts as plan_parts,
)
from .plan_reader import open_plan as open_plan
from .prediction import (
    evaluate_parts as evaluate_parts,
    predict_parts as predict_parts,
    search_parts as search_parts,
)
from .spark import SparkEngine as SparkEngine
from .spark_frames import hash_spark_rows as hash_spark_rows
