"""
Classification of documents
===========================

Which package of Python's own library does a piece of code come from? Pieces of 30 lines of the
files of eight packages; files of the test set are not in the training set.

    python examples/documents_classify.py FOLDER
"""

import csv
import sys
import sysconfig
from pathlib import Path

import corekernels as ck

PACKAGES = ("asyncio", "concurrent", "email", "http", "json", "logging", "multiprocessing", "xml")
LINES = 30

folder = Path(sys.argv[1])
library = Path(sysconfig.get_path("stdlib"))
pieces = {"train": [], "test": []}
for package in PACKAGES:
    for number, path in enumerate(sorted((library / package).glob("**/*.py"))):
        lines = path.read_text(encoding="utf-8").split("\n")
        part = pieces["test" if number % 3 == 0 else "train"]
        for start in range(0, len(lines), LINES):
            part.append((package, path.name, "\n".join(lines[start : start + LINES])))
for name, rows in pieces.items():
    with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("package", "file", "code"), *rows])

# on the command line:
# corekernels advise train.csv --text code --label package
# corekernels train train.csv model.ck --text code --label package --ngrams 1-2 --seed 0
# corekernels evaluate model.ck test.csv --text code --label package
reader = ck.files.open_reader(
    folder / "train.csv", text="code", label="package", shingles=ck.text.Shingles(ngrams=(1, 2))
)
recipe = ck.files.recipe_for(reader, n_hashes=1024)
model = ck.files.train(reader, folder / "model.ck", recipe)
test = ck.files.open_matching(
    folder / "test.csv", recipe.n_columns, text="code", label="package",
    like=ck.CoREClassifier.load(folder / "model.ck").provenance_,
)  # fmt: skip
found = ck.files.evaluate(model, test)
most = max(found.confusion.sum(axis=1)) / found.rows
print(f"{found.accuracy:.1%} of {found.rows} pieces; the most frequent package has {most:.1%}")
