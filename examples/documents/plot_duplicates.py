"""
Near-duplicates in a corpus
===========================

The Python files of Python's own library, of which those of the character encodings are nearly
the same. They are found, and a clean copy of the corpus is written. The same on the command line::

    corekernels dedup corpus.jsonl pairs.tsv --text body --id path --ngrams 3 --weights binary \\
        --kernel resemblance --threshold 0.7 --prefer longest --keep clean.jsonl --report page.html
"""

import json
import sysconfig
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import corekernels as ck

library = Path(sysconfig.get_path("stdlib"))
folder = tempfile.TemporaryDirectory()
corpus = Path(folder.name, "corpus.jsonl")
with open(corpus, "w", encoding="utf-8") as file:
    for path in sorted(library.glob("*.py")) + sorted(library.glob("[c-j]*/*.py")):
        document = {"path": str(path.relative_to(library)), "body": path.read_text("utf-8")}
        file.write(json.dumps(document) + "\n")

shingles = ck.text.Shingles(ngrams=3, weights="binary")
reader = ck.files.open_reader(corpus, text="body", id="path", shingles=shingles)
found = ck.files.near_duplicates(reader, 0.7, "resemblance")
scores = ck.documents.preference_scores(reader, "longest", found.pairs)
n_kept = reader.write_without(Path(folder.name, "clean.jsonl"), found.redundant(scores))
print(f"{found.rows} documents, {len(found.pairs)} pairs, {n_kept} documents kept")

# %%
# The resemblance of the files in the largest groups, which is the share of three-word sequences
# that two of them have in common.

group = np.concatenate(sorted(found.groups(scores), key=len, reverse=True))[:30]
names = reader.names(group)
with open(corpus, encoding="utf-8") as file:
    texts = [json.loads(line)["body"] for line in file]
K = ck.resemblance(shingles.fit_transform([texts[row] for row in group]))
short = [Path(names[row]).stem for row in group.tolist()]

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.6), width_ratios=(1, 1.25), layout="constrained"
)
left.hist(found.similarities, bins=np.linspace(0.7, 1, 31), color="tab:orange")
left.set(title=f"{len(found.pairs)} pairs found", xlabel="resemblance", ylabel="pairs")
image = right.imshow(K, vmin=0, vmax=1, cmap="magma")
right.set_xticks(range(len(group)), short, rotation=90, fontsize=7)
right.set_yticks(range(len(group)), short, fontsize=7)
right.set_title(f"{len(group)} files of the largest groups")
figure.colorbar(image, label="resemblance")
folder.cleanup()
plt.show()
