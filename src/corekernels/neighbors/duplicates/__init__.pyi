from .in_files import near_duplicates as near_duplicates
from .in_memory import find_duplicates as find_duplicates
from .in_two_files import near_matches as near_matches
from .result import (
    FileDuplicates as FileDuplicates,
    FileMatches as FileMatches,
    NearDuplicates as NearDuplicates,
    write_groups as write_groups,
    write_kept as write_kept,
    write_pairs as write_pairs,
)
