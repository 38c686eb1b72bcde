"""
Search by words
===============

An index of the Python files of Python's own library, asked in words, and asked for files like
a given one.

    python examples/documents_search.py FOLDER
"""

import json
import sys
import sysconfig
from pathlib import Path

import corekernels as ck

folder = Path(sys.argv[1])
library = Path(sysconfig.get_path("stdlib"))
texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(library.glob("*.py"))}
lines = [json.dumps({"name": name, "body": text}) for name, text in texts.items()]
(folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

# on the command line:
# corekernels index corpus.jsonl corpus.index --text body --id name --kernel core2
# corekernels search corpus.index --query "some words"
reader = ck.files.open_reader(folder / "corpus.jsonl", text="body", id="name")
ck.files.index_rows(reader, folder / "corpus.index", kernel="core2", random_state=0)
index = ck.CoRENeighbors.load(folder / "corpus.index")  # it remembers how text becomes rows

queries = ["calendar month week day locale", "compress gzip header crc", texts["heapq.py"]]
for query, found in zip(queries, ck.files.search_texts(index, queries, 3), strict=True):
    print(" ".join(query.split())[:50])
    for name, similarity in found:
        print(f"    {similarity:.3f}  {name}")
