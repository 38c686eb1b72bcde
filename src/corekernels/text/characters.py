"""What becomes of each character, from a file: lower case, accents, and what is a letter.

The file has it as of Unicode 14.0, which is that of Python 3.11, so that rows are the same with all
versions of Python; `tests/support/characters.py` made it. Python's own `str.lower` takes as long
for a document with one curly quote as all that loops do with it.
"""

from functools import cache
from pathlib import Path

import numpy as np

from .._core.validation import read_only
from .._loops.text.normalisation import N_CHARACTERS, Characters

FILE = Path(__file__).with_name("characters.npz")
MAPPINGS = {(True, False): "lower", (False, True): "stripped", (True, True): "both"}


@cache
def characters_for(lowercase: bool, strip_accents: bool) -> Characters:
    """What becomes of characters with these settings, for all threads."""
    becomes = np.arange(N_CHARACTERS, dtype=np.uint32)
    starts, characters = np.zeros(1, np.int64), np.empty(0, np.uint32)
    with np.load(FILE) as tables:
        kinds = np.repeat(tables["kinds"], tables["runs"])
        if name := MAPPINGS.get((lowercase, strip_accents)):
            changed, lengths = np.cumsum(tables[f"{name}_steps"]), tables[f"{name}_lengths"]
            starts = np.append(starts, np.cumsum(lengths, dtype=np.int64))
            characters = tables[f"{name}_characters"]
            becomes[changed] = N_CHARACTERS + np.arange(len(changed))
            becomes[changed[lengths == 1]] = characters[starts[:-1][lengths == 1]]
    return Characters(lowercase, *map(read_only, (kinds, becomes, starts, characters)))
