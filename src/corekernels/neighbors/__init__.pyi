from .candidates.base import CandidateMethod as CandidateMethod
from .candidates.base import SearchMethod as SearchMethod
from .candidates.base import Tuned as Tuned
from .duplicates.result import NearDuplicates as NearDuplicates
from .estimator import CoRENeighbors as CoRENeighbors
from .transformer import CoRENeighborsTransformer as CoRENeighborsTransformer
from .tuning import RecallCheck as RecallCheck
from .tuning import Tuning as Tuning
