"""Small corpora for tests: documents of three subjects, some of them near-duplicates."""

import json

import numpy as np

_SUBJECTS = {
    "garden": [
        "rose",
        "thorn",
        "soil",
        "seed",
        "water",
        "bloom",
        "spade",
        "hedge",
        "tulip",
        "compost",
        "beetle",
        "shade",
    ],
    "kitchen": [
        "salt",
        "pan",
        "oven",
        "dough",
        "onion",
        "butter",
        "knife",
        "simmer",
        "recipe",
        "garlic",
        "spoon",
        "flour",
    ],
    "sea": [
        "wave",
        "harbour",
        "anchor",
        "sail",
        "tide",
        "gull",
        "rope",
        "storm",
        "deck",
        "lighthouse",
        "reef",
        "captain",
    ],
}
_COMMON = [
    "and",
    "then",
    "there",
    "was",
    "some",
    "more",
    "of",
    "it",
    "with",
    "many",
    "others",
    "while",
    "nobody",
    "looked",
]


def make_documents(n, seed=0, length=40):
    """Documents as dicts with the keys text, subject, key and size."""
    rng = np.random.default_rng(seed)
    subjects = list(_SUBJECTS)
    documents = []
    for row in range(n):
        subject = subjects[int(rng.integers(len(subjects)))]
        words = rng.choice(_SUBJECTS[subject] + _COMMON, length + int(rng.integers(20))).tolist()
        text = " ".join(words).capitalize() + "."
        documents.append({"key": f"d{row}", "subject": subject, "size": row % 7, "text": text})
    return documents


def with_duplicates(documents, seed=1, share=0.3):
    """The documents, and changed copies of some of them after them."""
    rng = np.random.default_rng(seed)
    copies = []
    for document in documents:
        if rng.random() < share:
            words = document["text"].split()
            words[int(rng.integers(len(words)))] = "changed"
            copies.append(document | {"key": f"{document['key']}-copy", "text": " ".join(words)})
    return documents + copies


def write_json_lines(path, documents):
    """Write documents to a file; its path."""
    lines = [json.dumps(document, ensure_ascii=False) for document in documents]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
