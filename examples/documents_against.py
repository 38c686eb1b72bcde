"""
Training documents that are near test documents
===============================================

A model that has seen its test set is judged too well. Here pieces of files of Python's own
library are the test set, and the files the training set: containment finds which of them hold
a test document, though it is a small part of the file.

    python examples/documents_against.py FOLDER
"""

import json
import random
import sys
import sysconfig
from pathlib import Path

import corekernels as ck

folder = Path(sys.argv[1])
library = Path(sysconfig.get_path("stdlib"))
texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(library.glob("*.py"))}
long = [name for name, text in texts.items() if text.count("\n") > 300]
chosen = random.Random(0).sample(long, 10)


def write(name, documents):
    """A file of JSON lines."""
    lines = [json.dumps({"name": key, "body": text}) for key, text in documents.items()]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


write("train.jsonl", texts)
write("test.jsonl", {name: "\n".join(texts[name].split("\n")[100:140]) for name in chosen})

# on the command line:
# corekernels dedup train.jsonl near.tsv --text body --id name --ngrams 3 --weights binary
#     --kernel containment --threshold 0.8 --against test.jsonl --keep clean.jsonl
train, test = (
    ck.files.open_reader(
        folder / f"{name}.jsonl",
        text="body",
        id="name",
        shingles=ck.text.Shingles(ngrams=3, weights="binary"),
    )
    for name in ("train", "test")
)
found = ck.files.near_matches(train, test, 0.8, "containment")
n_kept = ck.files.write_kept(train, found.redundant(), folder / "clean.jsonl")
names = train.names(found.pairs[:, 0])
print(f"{len(found.redundant())} of {found.rows} training documents hold one of the test set:")
print(", ".join(sorted(set(names.values()))))
assert {names[row] for row in found.redundant().tolist()} >= set(chosen)
