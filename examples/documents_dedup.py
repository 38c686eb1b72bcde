"""
Near-duplicate documents
========================

The Python files of Python's own library, of which those of the character encodings are nearly
the same: pairs, a clean copy of the corpus, and a page about what was found.

    python examples/documents_dedup.py FOLDER
"""

import json
import sys
import sysconfig
from pathlib import Path

import corekernels as ck
from corekernels import report

folder = Path(sys.argv[1])
library = Path(sysconfig.get_path("stdlib"))
with open(folder / "corpus.jsonl", "w", encoding="utf-8") as corpus:
    for path in sorted(library.glob("*.py")) + sorted(library.glob("[a-r]*/*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        document = {"path": str(path.relative_to(library)), "body": text}
        corpus.write(json.dumps(document) + "\n")

# on the command line:
# corekernels dedup corpus.jsonl pairs.tsv --text body --id path --ngrams 3 --weights binary
#     --kernel resemblance --threshold 0.7 --prefer longest --keep clean.jsonl --report page.html
reader = ck.files.open_reader(
    folder / "corpus.jsonl", text="body", id="path",
    shingles=ck.text.Shingles(ngrams=3, weights="binary"),
)  # fmt: skip
found = ck.files.near_duplicates(reader, 0.7, "resemblance")
names = reader.names(found.pairs)
ck.files.write_pairs(found, folder / "pairs.tsv", (names, names))
scores = ck.documents.preference_scores(reader, "longest", found.pairs)
n_kept = ck.files.write_kept(reader, found.redundant(scores), folder / "clean.jsonl")

print(f"{found.rows} documents, {len(found.pairs)} pairs, {n_kept} kept")
for group in sorted(found.groups(scores), key=len, reverse=True)[:5]:
    stays, *others = (names[row] for row in group.tolist())
    print(f"{stays} stays for {', '.join(others[:4])}{', ...' if len(others) > 4 else ''}")
page = report.duplicates_report(found, reader, threshold=0.7, kernel="resemblance")
report.write_page(page, folder / "page.html")
