"""How text becomes rows: everything that the columns and values of a document depend on."""

import operator
from dataclasses import asdict, dataclass, replace
from typing import Any

from .._core.arguments import require_choice, require_count
from .._loops.text import shingles as loops
from .._loops.text.grams import COLUMN_BITS
from ..errors import ParameterError

TEXT_VERSION = 1  # of "Text to columns" in docs/contract.md
N_COLUMNS = 1 << COLUMN_BITS
MOST_NGRAM = 1000

UNITS = ("words", "characters")
WEIGHTS = {"binary": loops.BINARY, "counts": loops.COUNTS, "log": loops.LOGARITHMS}
BM25 = "bm25"
BY_RARITY = {"tfidf": "log", BM25: "counts"}  # weights of an index, made of these by frequencies


@dataclass(frozen=True)
class TextSettings:
    """What `Shingles` was told, checked and in one form: equal settings give equal rows.

    Examples
    --------
    >>> TextSettings.of(unit="words", ngrams=3).ngrams
    (3, 3)
    """

    unit: str = "words"
    ngrams: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: bool = False
    min_length: int = 2
    weights: str = "log"
    version: int = TEXT_VERSION
    frequencies: str | None = None  # digest of the document frequencies that values are weighed by

    @classmethod
    def of(cls, *, ngrams: Any = 1, **others: Any) -> "TextSettings":
        """Settings by their names, which are checked; those not given are as by default."""
        settings = cls(ngrams=require_ngrams(ngrams), **others)
        if settings.version != TEXT_VERSION:
            raise ParameterError(
                f"version: got {settings.version!r}; this corekernels knows version "
                f"{TEXT_VERSION} of how text becomes columns: make the rows again."
            )
        require_choice("unit", settings.unit, UNITS)
        if settings.frequencies is None and settings.weights in BY_RARITY:
            raise ParameterError(
                f"weights: {settings.weights} is for an index of documents, which counts in how "
                f"many an n-gram occurs; give one of {', '.join(WEIGHTS)}."
            )
        weights = WEIGHTS if settings.frequencies is None else WEIGHTS | BY_RARITY
        require_choice("weights", settings.weights, tuple(weights))
        for name in ("lowercase", "strip_accents"):
            if not isinstance(getattr(settings, name), bool):
                value = getattr(settings, name)
                raise ParameterError(f"{name}: got {value!r}; give True or False.")
        if settings.unit != "words":  # characters are no words: their length says nothing
            return replace(settings, min_length=1)
        return replace(settings, min_length=require_count("min_length", settings.min_length))

    def asdict(self) -> dict[str, Any]:
        """The settings, for a file; `frequencies` only if there are some."""
        settings = asdict(self) | {"ngrams": list(self.ngrams)}
        if self.frequencies is None:
            del settings["frequencies"]
        return settings

    def differences(self, other: "TextSettings") -> list[str]:
        """The settings that differ, as "name ours, not theirs"."""
        ours, others = self.asdict(), other.asdict()
        return [
            f"{name} {ours.get(name)}, not {others.get(name)}"
            for name in asdict(self)
            if ours.get(name) != others.get(name)
        ]

    def grams(self) -> loops.Grams:
        """The settings as the loops take them."""
        least, most = self.ngrams
        return loops.Grams(
            self.unit == "words",
            least,
            most,
            self.min_length,
            WEIGHTS[BY_RARITY.get(self.weights, self.weights)],
        )


def settings_like(
    options: Any, known: dict[str, Any] | None, frequencies: str | None = None
) -> TextSettings:
    """Settings for text that is to match rows known before, made with `known` settings.

    `given` are settings, or a dict of some of them; what it leaves out is as known, or else as
    by default. Others than the known ones are refused. `frequencies` is the digest of the
    document frequencies that are to weigh values, if any.
    """
    if known is not None and known.get("frequencies") is not None and frequencies is None:
        raise ParameterError(
            "frequencies: None given, but the rows known before were weighed by document "
            "frequencies; give the same file of them."
        )
    settings: TextSettings
    if isinstance(options, TextSettings):
        settings = options
    else:
        settings = TextSettings.of(**((known or {}) | dict(options or {})))
    settings = replace(settings, frequencies=frequencies)
    if known is not None:
        differences = settings.differences(TextSettings.of(**known))
        if differences:
            raise ParameterError(
                f"text: {'; '.join(differences)}, with which the rows known before were made; "
                "leave such settings out."
            )
    return settings


def require_ngrams(ngrams: Any) -> tuple[int, int]:
    """The least and largest n of n-grams, from one number or two.

    >>> require_ngrams(3), require_ngrams((1, 3))
    ((3, 3), (1, 3))
    """
    pair = (ngrams, ngrams) if not isinstance(ngrams, tuple | list) else tuple(ngrams)
    try:
        least, most = (operator.index(n) for n in pair)
    except (TypeError, ValueError):
        least = most = 0
    if not 1 <= least <= most <= MOST_NGRAM:
        raise ParameterError(
            f"ngrams: got {ngrams!r}; give a number from 1 to {MOST_NGRAM}, or the least and the "
            "largest one, as (1, 3)."
        )
    return least, most
