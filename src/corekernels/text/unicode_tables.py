"""Tables of what becomes of each character, made from Python's own `str` and `unicodedata`.

A page of 256 characters is made when a document needs it, in a fraction of a millisecond.
"""

import unicodedata
from functools import cache

import numpy as np

from .._core.forks import ForkLock
from .._core.types import Array
from .._core.validation import read_only
from .._loops.text import normalisation as loops

_N_PAGES = 0x110000 // loops.PAGE
_SIGMA, _FINAL_SIGMA = "\u03a3", "\u03c2"


@cache
def character_table(lowercase: bool, strip_accents: bool) -> "CharacterTable":
    """The table for these settings, which all threads share."""
    return CharacterTable(lowercase, strip_accents)


class CharacterTable:
    """What becomes of characters; grows by pages as they are needed."""

    def __init__(self, lowercase: bool, strip_accents: bool) -> None:
        self._lowercase, self._strip_accents = lowercase, strip_accents
        self._lock = ForkLock()
        self._places = np.full(_N_PAGES, loops.NO_PAGE, np.int32)
        self._pages: list[Array] = []
        self._several: list[int] = []
        self.characters = self._arrays()

    def add_page(self, number: int) -> None:
        """Make a page, unless another thread has made it meanwhile."""
        with self._lock:
            if self._places[number] == loops.NO_PAGE:
                first = number * loops.PAGE
                page = [self._entry(chr(code)) for code in range(first, first + loops.PAGE)]
                self._pages.append(np.array(page, np.uint64))
                self._places[number] = len(self._pages) - 1
                self.characters = self._arrays()

    def _arrays(self) -> loops.Characters:
        """The table as loops take it; a loop that is running keeps the one it was given."""
        entries = np.array(self._pages, np.uint64).reshape(-1, loops.PAGE)
        return loops.Characters(
            self._lowercase,
            read_only(self._places.copy()),
            read_only(entries),
            read_only(np.array(self._several, np.uint64)),
        )

    def _entry(self, character: str) -> int:
        """The entry of a character, as `loops` describes it."""
        becomes = self._replacement(character)
        flags = 0
        if self._lowercase:
            flags |= loops.IGNORABLE_FLAG * _is_ignorable(character)
            flags |= loops.CASED_FLAG * _is_cased(character)
            flags |= loops.SIGMA_FLAG * (character == _SIGMA)
        if len(becomes) == 1:
            return flags | _one_character(becomes)
        place = len(self._several)
        self._several += map(_one_character, becomes)
        return flags | loops.SEVERAL_FLAG | len(becomes) << loops.COUNT_SHIFT | place

    def _replacement(self, character: str) -> str:
        """As `CountVectorizer` does it: lower case first, then no accents."""
        if self._lowercase:
            character = character.lower()
        if self._strip_accents:
            parts = unicodedata.normalize("NFKD", character)
            character = "".join(part for part in parts if not unicodedata.combining(part))
        return character


def _one_character(character: str) -> int:
    encoded = character.encode("utf-8", "surrogatepass")  # surrogates occur in no document
    entry = int.from_bytes(encoded, "little") | len(encoded) << loops.SIZE_SHIFT
    entry |= loops.WORD_FLAG * (character.isalnum() or character == "_")
    return entry | loops.SPACE_FLAG * character.isspace()


def _is_cased(character: str) -> bool:
    """Whether a sigma after the character alone is a final one."""
    return (character + _SIGMA).lower().endswith(_FINAL_SIGMA)


def _is_ignorable(character: str) -> bool:
    """Whether a sigma after a letter and the character is a final one because of the letter."""
    return ("A" + character + _SIGMA).lower().endswith(_FINAL_SIGMA) and not _is_cased(character)
