"""Passages of documents around the words of a query."""

import re

_WORD = re.compile(r"\w+")


def snippet(text: str, query: str, width: int = 100) -> str:
    """The passage with the most different words of a query, on one line; the beginning if none.

    >>> snippet("The rose. " * 9 + "A thorn of the rose.", "thorn rose", 30)
    '… rose. The rose. A thorn of …'
    """
    text = " ".join(text.split())
    query_words = {word.lower() for word in _WORD.findall(query)}
    words = [(match.start(), match.end(), match[0].lower()) for match in _WORD.finditer(text)]
    hits = [word for word in words if word[2] in query_words]
    best, n_best, first = (0, 0), 0, 0
    for last, (_, end, _) in enumerate(hits):
        while end - hits[first][0] > width and first < last:
            first += 1
        n_words = len({word for _, _, word in hits[first : last + 1]})
        if n_words > n_best:
            best, n_best = (hits[first][0], end), n_words
    margin = max(0, width - (best[1] - best[0])) // 2
    begin = max(0, min(best[0] - margin, len(text) - width))
    end = min(len(text), max(begin + width, best[1]))
    begin = min((start for start, _, _ in words if start >= begin), default=0) if begin else 0
    end = (
        max((stop for _, stop, _ in words if stop <= end), default=end) if end < len(text) else end
    )
    return ("… " if begin else "") + text[begin:end] + (" …" if end < len(text) else "")
