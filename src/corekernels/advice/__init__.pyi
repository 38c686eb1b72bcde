from .result import Advice as Advice, Candidate as Candidate, Confusion as Confusion
from .verdict import DEFAULT_SIZES as DEFAULT_SIZES, advise as advise
