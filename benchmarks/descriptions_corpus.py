"""A corpus of short texts: what the words of WordNet and the packages of Debian are described as.

    python benchmarks/descriptions_corpus.py descriptions.jsonl

Both come from deb.debian.org. A text is a set of synonyms and its gloss, or the long
description of a package.
"""

import argparse
import io
import json
import lzma
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

DEBIAN = "http://deb.debian.org/debian"
WORDNET = f"{DEBIAN}/pool/main/w/wordnet/wordnet-base_3.0-37_all.deb"
PACKAGES = f"{DEBIAN}/dists/bookworm/main/i18n/Translation-en.xz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    n_documents = 0
    unfinished = target.with_name(f"{target.name}.part")
    with open(unfinished, "w", encoding="utf-8") as file:
        for texts in (glosses(fetch(WORDNET)), packages(fetch(PACKAGES))):
            for name, text in texts:
                file.write(json.dumps({"id": name, "text": text}, ensure_ascii=False) + "\n")
                n_documents += 1
            print(f"{n_documents:,} documents")
    unfinished.rename(target)


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return answer.read()


def glosses(archive: bytes) -> Iterator[tuple[str, str]]:
    """The sets of synonyms in a Debian package of WordNet, by part of speech and offset."""
    with tarfile.open(fileobj=io.BytesIO(member(archive, b"data.tar.xz"))) as files:
        for part in ("noun", "verb", "adj", "adv"):
            for line in files.extractfile(f"./usr/share/wordnet/data.{part}").read().splitlines():
                about, gloss = line.decode("latin-1").partition("|")[::2]
                if about.startswith(" "):  # the license
                    continue
                entry = about.split()
                words = entry[4 : 4 + 2 * int(entry[3], 16) : 2]
                text = f"{' '.join(words).replace('_', ' ')}: {gloss.strip()}"
                yield f"{part}/{entry[0]}", text


def member(archive: bytes, name: bytes) -> bytes:
    """A file of an `ar` archive, which is what Debian packages are."""
    place = len(b"!<arch>\n")
    while True:
        header = archive[place : place + 60]
        start, size = place + 60, int(header[48:58])
        if header[:16].strip() == name:
            return archive[start : start + size]
        place = start + size + size % 2


def packages(text: bytes) -> Iterator[tuple[str, str]]:
    """The packages of a list of Debian's, with their descriptions."""
    for entry in lzma.decompress(text).decode().split("\n\n"):
        name, _, description = entry.partition("\nDescription-en: ")
        if description:
            yield name.partition("\n")[0].removeprefix("Package: "), description.strip()


if __name__ == "__main__":
    main()
