"""Text in blocks of whole lines or records; loops can read a few bytes beyond their end."""

import itertools
from collections.abc import Callable, Generator, Iterator

import numpy as np

from .._core.pipeline import read_ahead
from .._core.types import Array
from ..errors import FileError
from .streams import ByteStream

Cut = Callable[[Array, int], int]

MAX_LINE_BYTES = 1 << 30
PADDING = 64  # bytes behind each block
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NEWLINE = ord("\n")
_TAIL_BYTES = 1 << 16
_LEAST_SEGMENT = 1 << 16


def line_blocks(
    stream: ByteStream,
    n_bytes: int,
    most_bytes: int = MAX_LINE_BYTES,
    *,
    what: str = "svmlight text",
    find_cut: Cut | None = None,
) -> Generator[Array]:
    """The stream in blocks of about `n_bytes` that end where lines end, read ahead in a thread.

    Each block is an array of bytes, valid until the next one is asked for, whose last byte is
    a newline. A line of more than `most_bytes` is an error, which says that this is not `what`;
    a byte order mark is left out. `find_cut` says where, before the end of the bytes read so
    far, the last line that is whole ends, if not at the last newline; 0 if nowhere.
    """
    cut = _after_last_newline if find_cut is None else find_cut
    return read_ahead(_blocks(stream, n_bytes, most_bytes, what, cut))


def _blocks(
    stream: ByteStream, n_bytes: int, most_bytes: int, what: str, find_cut: Cut
) -> Iterator[Array]:
    buffers = [np.empty(n_bytes + PADDING, np.uint8) for _ in range(4)]  # used in turn
    turn, n_left, first = 0, 0, True
    while True:
        buffer = buffers[turn]
        room = len(buffer) - PADDING
        end = n_left + stream.read_into(buffer.data[n_left:room])
        is_last = end < room
        if first and buffer[:3].tobytes() == _BYTE_ORDER_MARK and end >= 3:
            buffer[: end - 3] = buffer[3:end].copy()
            end -= 3
        first = False
        if is_last and end and buffer[end - 1] != _NEWLINE:
            buffer[end] = _NEWLINE
            end += 1
        cut = end if is_last else find_cut(buffer, end)
        if cut == 0 and not is_last:
            if end > most_bytes:
                raise FileError(
                    f"{stream.name}: a line before byte {stream.position} is longer than "
                    f"{most_bytes:,} bytes; this is not {what}."
                )
            buffers[turn] = np.concatenate([buffer[:end], np.empty(end + PADDING, np.uint8)])
            n_left = end
            continue
        n_left = end - cut
        turn = (turn + 1) % len(buffers)
        if len(buffers[turn]) < len(buffer):
            buffers[turn] = np.empty(len(buffer), np.uint8)
        buffers[turn][:n_left] = buffer[cut:end]
        if cut:
            yield buffer[:cut]
        if is_last:
            return


def segments(text: Array, n_parts: int) -> list[tuple[int, int]]:
    """Consecutive (start, stop) ranges of whole lines, about equally long and not too short."""
    n_parts = max(1, min(n_parts, len(text) // _LEAST_SEGMENT))
    ends = [0]
    for part in range(1, n_parts):
        start = max(ends[-1], len(text) * part // n_parts)
        ends.append(_behind_newline(text, start))
    ends.append(len(text))
    return [(start, stop) for start, stop in itertools.pairwise(ends) if start < stop]


def _behind_newline(text: Array, start: int) -> int:
    """The place behind the first newline from `start` on; there is one."""
    size = _TAIL_BYTES
    while True:
        found = text[start : start + size].tobytes().find(b"\n")
        if found >= 0:
            return start + found + 1
        start += size


def _after_last_newline(buffer: Array, end: int) -> int:
    """The place behind the last newline before `end`; 0 if there is none."""
    for stop in range(end, 0, -_TAIL_BYTES):
        start = max(0, stop - _TAIL_BYTES)
        found = buffer[start:stop].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0
