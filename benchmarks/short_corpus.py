"""A generated corpus of short documents, a tenth of which are near copies of earlier ones.

    python benchmarks/short_corpus.py 10000000 short.jsonl

A document has 20 to 39 words of 50,000, the common ones more often. Of the near copies four
in five differ in one word.
"""

import argparse
from pathlib import Path

import numpy as np

N_WORDS, N_REMEMBERED, PORTION = 50_000, 5000, 100_000
COPIES, CHANGED, REMEMBERED = 0.1, 0.8, 0.02  # shares: of documents, of copies, of new documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n_documents", type=int)
    parser.add_argument("target", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    lengths = rng.integers(2, 10, N_WORDS)
    letters = (rng.integers(0, 26, lengths.sum()) + ord("a")).astype(np.uint8).tobytes().decode()
    ends = np.cumsum(lengths).tolist()
    words = [letters[end - n : end] for end, n in zip(ends, lengths.tolist(), strict=True)]
    remembered: list[list[str]] = []
    part = options.target.with_name(f"{options.target.name}.part")
    with open(part, "w") as file:
        for start in range(0, options.n_documents, PORTION):
            n = min(PORTION, options.n_documents - start)
            lines = (
                f'{{"id": {number}, "text": "{" ".join(document)}"}}\n'
                for number, document in enumerate(documents(rng, n, words, remembered), start)
            )
            file.writelines(lines)
    part.rename(options.target)


def documents(rng, n, words, remembered):
    """Some documents, as lists of words; a few are remembered to be copied."""
    lengths = rng.integers(20, 40, n)
    ends = np.cumsum(lengths)
    chosen = (N_WORDS * rng.random(ends[-1]) ** 3).astype(int).tolist()
    kinds, which = rng.random(n).tolist(), rng.random((n, 3)).tolist()
    for end, length, kind, (a, b, c) in zip(
        ends.tolist(), lengths.tolist(), kinds, which, strict=True
    ):
        if kind < COPIES and remembered:
            document = list(remembered[int(a * len(remembered))])
            if b < CHANGED:
                document[int(c * len(document))] = "changed"
        else:
            document = [words[word] for word in chosen[end - length : end]]
            if a < REMEMBERED:
                remembered.append(document)
                del remembered[:-N_REMEMBERED]
        yield document


if __name__ == "__main__":
    main()
