from ..neighbors.duplicates.result import (
    write_groups as write_groups,
    write_pairs as write_pairs,
)
from .conversion import convert as convert, file_kind as file_kind
from .estimates import Estimates as Estimates, estimate_pairs as estimate_pairs, nearest as nearest
from .frequencies import count_frequencies as count_frequencies
from .kernels import gram_description as gram_description, kernel_to_file as kernel_to_file
from .searching import (
    IndexReport as IndexReport,
    SearchReport as SearchReport,
    index_rows as index_rows,
    search as search,
    search_texts as search_texts,
)
from .surveys import (
    Histogram as Histogram,
    Survey as Survey,
    sample as sample,
    survey as survey,
)
from .dedup import (
    duplicates_default as duplicates_default,
    near_duplicates as near_duplicates,
)
from .engines import (
    ENGINES as ENGINES,
    DaskEngine as DaskEngine,
    Engine as Engine,
    LocalEngine as LocalEngine,
    SparkEngine as SparkEngine,
    open_engine as open_engine,
)
from .engines.frames import (
    FrameColumns as FrameColumns,
    hash_dask_blocks as hash_dask_blocks,
    hash_spark_rows as hash_spark_rows,
    signatures_of_table as signatures_of_table,
)
from .hashing import (
    HashReport as HashReport,
    hash_to_file as hash_to_file,
    rows_per_part as rows_per_part,
)
from .learning import sweep as sweep, train as train
from .opening import (
    open_matching as open_matching,
    open_plan as open_plan,
    open_reader as open_reader,
)
from .part_learning import Round as Round
from .plan import (
    ROWS_FOR_ONE_MACHINE as ROWS_FOR_ONE_MACHINE,
    ROWS_PER_PART as ROWS_PER_PART,
    Part as Part,
    Plan as Plan,
    plan_parts as plan_parts,
)
from .prediction import (
    Evaluation as Evaluation,
    RegressionEvaluation as RegressionEvaluation,
    evaluate as evaluate,
    label_text as label_text,
    predict as predict,
    predictions as predictions,
)
from .readers import (
    AnyReader as AnyReader,
    SignatureReader as SignatureReader,
    load_signatures as load_signatures,
    recipe_for as recipe_for,
)
