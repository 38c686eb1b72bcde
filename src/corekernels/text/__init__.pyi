from .frequencies import InverseDocumentFrequency as InverseDocumentFrequency
from .settings import TextSettings as TextSettings
from .shingles import Shingles as Shingles
