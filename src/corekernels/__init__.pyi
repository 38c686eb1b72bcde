from . import (
    documents as documents,
    errors as errors,
    files as files,
    io as io,
    linear as linear,
    neighbors as neighbors,
    report as report,
    text as text,
    theory as theory,
)
from .advice import advise as advise
from .classifier import CoREClassifier as CoREClassifier
from .deduplication import deduplicate as deduplicate
from .errors import CoREError as CoREError
from .hasher import CoREHasher as CoREHasher
from .kernel_table import Kernel as Kernel
from .kernels import (
    core1 as core1,
    core2 as core2,
    core_rbf as core_rbf,
    correlation as correlation,
    gram as gram,
    gram_chunks as gram_chunks,
    gram_to_file as gram_to_file,
    resemblance as resemblance,
)
from .levels import Levels as Levels
from .models import load_model as load_model
from .neighbors import (
    CoRENeighbors as CoRENeighbors,
    CoRENeighborsTransformer as CoRENeighborsTransformer,
)
from .planner import Plan as Plan, plan as plan
from .recipe import Recipe as Recipe
from .regressor import CoRERegressor as CoRERegressor
from .signatures import Signatures as Signatures, concatenate as concatenate

__version__: str
