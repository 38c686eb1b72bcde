"""Rows of n-gram counts of many documents; several threads share them out by a counter.

Each thread calls `shingle` again and again. A call goes on with the documents of the thread's
present block, takes further blocks from the counter, and comes back when there are no more or
when something is missing, which the status tells: larger working memory, or room in the
buffer that the thread is filling. Then the caller sees to that and calls again.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.bit_sets import WORD
from ..simd.integers import fetch_add, store_word
from .grams import (
    COLUMN_BITS,
    character_grams,
    count_grams,
    find_characters,
    find_words,
    hash_words,
    sort_distinct,
    table_size,
    word_grams,
)
from .normalisation import INVALID, NO_ROOM, SPARE_BYTES, clear_marks, normalise

# what a call comes back with
FINISHED, NEEDS_SCRATCH, NEEDS_BUFFER, NOT_UTF8 = range(4)

# positions in a thread's state
NEXT, STOP, FILLED, N_RUNS, TEXT_NEEDED, GRAMS_NEEDED = range(6)
N_STATE = 6

BINARY, COUNTS, LOGARITHMS = range(3)  # kinds of weights

_LOGARITHMS = 1 + np.log(np.maximum(1, np.arange(64)))  # of the counts that occur most


class DocumentBlocks(NamedTuple):
    """Documents in blocks: document d is text[offsets[d]:offsets[d + 1]]."""

    counter: np.ndarray  # one number: that of the next block
    cuts: np.ndarray  # block b is documents cuts[b] to cuts[b + 1]
    text: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray  # columns of each document, written by the loops


class Grams(NamedTuple):
    """Which n-grams are wanted, and what they weigh."""

    of_words: bool
    least: int
    most: int
    least_length: int  # of a word, in characters
    weights: int


class Scratch(NamedTuple):
    """Working memory of a thread."""

    text: np.ndarray  # normalised
    marks: np.ndarray
    places: np.ndarray  # of words or characters in it
    words: np.ndarray  # hashes
    columns: np.ndarray  # of all n-grams
    keys: np.ndarray  # the table of distinct columns
    key_counts: np.ndarray
    counts: np.ndarray


class RowBuffer(NamedTuple):
    """Rows of one thread: runs of consecutive documents."""

    columns: np.ndarray
    values: np.ndarray
    runs: np.ndarray  # first document, the one after the last, where its columns begin


@loop
def shingle(documents, grams, characters, scratch, buffer, state):
    """Go on with the rows of a thread until they are finished or something is missing."""
    while state[N_RUNS] < buffer.runs.shape[0]:
        if state[NEXT] == state[STOP]:
            block = fetch_add(documents.counter, 0, 1)
            if block >= documents.cuts.shape[0] - 1:
                return FINISHED
            state[NEXT], state[STOP] = documents.cuts[block], documents.cuts[block + 1]
        first, filled = state[NEXT], state[FILLED]
        status = _shingle_run(documents, grams, characters, scratch, buffer, state)
        if state[NEXT] > first:
            run = buffer.runs[state[N_RUNS]]
            run[0], run[1], run[2] = first, state[NEXT], filled
            state[N_RUNS] += 1
        if status != FINISHED:
            return status
    return NEEDS_BUFFER


@inner_loop
def _shingle_run(documents, grams, characters, scratch, buffer, state):
    """Write the rows of documents NEXT to STOP, as far as they go."""
    offsets, lengths = documents.offsets, documents.lengths
    text, marks, places, words = scratch.text, scratch.marks, scratch.places, scratch.words
    columns, counts = scratch.columns, scratch.counts
    keys, key_counts = scratch.keys, scratch.key_counts
    out, values = buffer.columns, buffer.values
    least, most = grams.least, grams.most
    is_lower = characters.lowercase
    while state[NEXT] < state[STOP]:
        start, stop = offsets[state[NEXT]], offsets[state[NEXT] + 1]
        if stop - start + SPARE_BYTES > text.shape[0]:
            state[TEXT_NEEDED] = stop - start + SPARE_BYTES
            return NEEDS_SCRATCH
        n_bytes, is_ascii = normalise(documents.text, start, stop, characters, text, marks)
        if n_bytes == INVALID:
            return NOT_UTF8
        if n_bytes == NO_ROOM:
            state[TEXT_NEEDED] = 2 * text.shape[0]
            return NEEDS_SCRATCH
        for place in range(n_bytes, n_bytes + WORD, 8):
            store_word(np.uint64(0), place, text)
        if grams.of_words:
            n_places = find_words(text, marks, n_bytes, is_lower, is_ascii, places)
            n_items = hash_words(text, places, n_places, grams.least_length, is_ascii, words)
        else:
            n_items = find_characters(text, marks, n_bytes, places)
        if not is_ascii:
            clear_marks(marks, n_bytes)
        n_grams = count_grams(n_items, least, most)
        if n_grams > columns.shape[0] or table_size(n_grams) > keys.shape[0]:
            state[GRAMS_NEEDED] = n_grams
            return NEEDS_SCRATCH
        if state[FILLED] + n_grams > out.shape[0]:
            state[GRAMS_NEEDED] = n_grams
            return NEEDS_BUFFER
        if grams.of_words:
            word_grams(words, n_items, least, most, columns)
        else:
            character_grams(text, places, n_items, least, most, columns)
        n_columns = sort_distinct(
            columns, n_grams, COLUMN_BITS, keys, key_counts, state[FILLED], out, counts
        )
        write_weights(counts, n_columns, grams.weights, state[FILLED], values)
        lengths[state[NEXT]] = n_columns
        state[FILLED] += n_columns
        state[NEXT] += 1
    return FINISHED


@inner_loop
def write_weights(counts, n, weights, start, out):
    """Write what n-grams that occur so often weigh, from `start` on."""
    last = _LOGARITHMS.shape[0] - 1
    for i in range(n):
        if weights == BINARY:
            out[start + i] = 1
        elif weights == COUNTS:
            out[start + i] = counts[i]
        else:
            out[start + i] = _LOGARITHMS[min(counts[i], last)]
    if weights == LOGARITHMS:
        for i in range(n):
            if counts[i] > last:
                out[start + i] = 1 + np.log(np.float64(counts[i]))
