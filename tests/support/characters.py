"""What becomes of characters, as Python's `str` and `unicodedata` have it.

`python tests/support/characters.py`, with a Python that has UNICODE, writes the file of
`corekernels.text.rows`.
"""

import unicodedata

import numpy as np

from corekernels.text.rows import CHARACTERS as FILE

UNICODE = "14.0.0"
N_CHARACTERS = 0x110000
_SIGMA, _FINAL_SIGMA = "\u03a3", "\u03c2"


def lower(text):
    return text.lower()


def strip(text):
    """As `CountVectorizer` does it."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(part for part in parts if not unicodedata.combining(part))


MAPPINGS = {"lower": lower, "stripped": strip, "both": lambda text: strip(lower(text))}


def kind(character):
    """A number of four bits: \\w, \\s, with case, skipped when looking for case."""
    is_word = character.isalnum() or character == "_"
    is_cased = (character + _SIGMA).lower().endswith(_FINAL_SIGMA)
    is_ignorable = ("A" + character + _SIGMA).lower().endswith(_FINAL_SIGMA) and not is_cased
    return is_word | character.isspace() << 1 | is_cased << 2 | is_ignorable << 3


def later_characters():
    """Those that Python knows, but UNICODE does not."""
    if unicodedata.unidata_version == UNICODE:
        return ""
    with np.load(FILE) as arrays:
        stored = np.repeat(arrays["kinds"], arrays["runs"])
    return "".join(chr(code) for code in np.flatnonzero(kinds() != stored))


def kinds():
    return np.array([kind(chr(code)) for code in range(N_CHARACTERS)], np.uint8)


def tables():
    """The arrays of the file: runs of equal kinds, and what each mapping changes."""
    starts = np.flatnonzero(np.diff(kinds(), prepend=np.uint8(255)))
    runs = np.diff(starts, append=N_CHARACTERS).astype(np.uint32)
    arrays = {"kinds": kinds()[starts], "runs": runs}
    characters = [chr(code) for code in range(N_CHARACTERS) if not 0xD800 <= code < 0xE000]
    for name, change in MAPPINGS.items():
        becomes = {c: change(c) for c in characters if change(c) != c}
        codes = np.array([ord(c) for c in becomes], np.uint32)
        arrays[f"{name}_steps"] = np.diff(codes, prepend=np.uint32(0))
        arrays[f"{name}_lengths"] = np.array([len(text) for text in becomes.values()], np.uint8)
        arrays[f"{name}_characters"] = np.array(
            [ord(c) for c in "".join(becomes.values())], np.uint32
        )
    return arrays


if __name__ == "__main__":
    np.savez_compressed(FILE, **tables())
