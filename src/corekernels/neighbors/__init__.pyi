from .duplicates.result import NearDuplicates as NearDuplicates
from .estimator import CoRENeighbors as CoRENeighbors
from .estimator import RecallCheck as RecallCheck
from .transformer import CoRENeighborsTransformer as CoRENeighborsTransformer
