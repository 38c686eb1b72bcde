"""
Search by words
===============

An index of the Python files of Python's own library, asked in words, and asked for files like a
given one. The index remembers how text becomes rows. The same on the command line::

    corekernels index corpus.jsonl corpus.index --text body --id name --kernel core2
    corekernels search corpus.index --query "some words"
"""

import json
import sysconfig
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import corekernels as ck

library = Path(sysconfig.get_path("stdlib"))
texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(library.glob("*.py"))}
queries = {
    "“calendar month week day locale”": "calendar month week day locale",
    "“compress gzip header crc”": "compress gzip header crc",
    "the whole file heapq.py": texts["heapq.py"],
}
with tempfile.TemporaryDirectory() as folder:
    corpus, target = Path(folder, "corpus.jsonl"), Path(folder, "corpus.index")
    lines = [json.dumps({"name": name, "body": text}) for name, text in texts.items()]
    corpus.write_text("\n".join(lines) + "\n", encoding="utf-8")
    reader = ck.files.open_reader(corpus, text="body", id="name")
    ck.files.index_rows(reader, target, kernel="core2", random_state=0)
    index = ck.CoRENeighbors.load(target, mmap=False)
    answers = ck.files.search_texts(index, list(queries.values()), 6)

figure, grid = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for axes, query, found in zip(grid, queries, answers, strict=True):
    names = [match.id for match in reversed(found)]
    similarities = [match.similarity for match in reversed(found)]
    axes.barh(names, similarities, color="tab:orange")
    axes.set(title=query, xlabel="CoRE 2 kernel value")
plt.show()
