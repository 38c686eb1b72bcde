"""A corpus with real near-duplicates: the Python files of several versions of PyPI packages.

    python benchmarks/pypi_corpus.py corpus.jsonl
    python benchmarks/pypi_corpus.py functions.jsonl --functions

Source distributions come from pypi.org. A document is one Python file of at least 200
characters, in UTF-8, with its package, version and path beside the text; or, more and shorter
ones, one function or method.
"""

import argparse
import io
import json
import re
import tarfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

LEAST_CHARACTERS = 200
FUNCTION = re.compile(r"^(?= {0,4}(?:async def|def|class) )", re.MULTILINE)
# package: versions, evenly spaced over those there are
PACKAGES = {
    "django": 10, "transformers": 6, "pandas": 6, "sympy": 6, "scikit-learn": 5, "sqlalchemy": 6,
    "matplotlib": 5, "twisted": 5, "scipy": 4, "sphinx": 5, "celery": 5, "networkx": 5,
    "setuptools": 8, "pip": 8, "ansible-core": 6, "homeassistant": 4, "nltk": 4, "numpy": 4,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--functions", action="store_true", help="a document per function")
    options = parser.parse_args()
    target = options.target
    n_documents = n_bytes = 0
    unfinished = target.with_name(f"{target.name}.part")
    with open(unfinished, "w", encoding="utf-8") as file:
        for package, n_versions in PACKAGES.items():
            for version, address in source_distributions(package, n_versions):
                origin = {"package": package, "version": version}
                for path, text in python_files(fetch(address)):
                    for part in functions(text) if options.functions else [text]:
                        document = {**origin, "path": path, "text": part}
                        n_bytes += file.write(json.dumps(document, ensure_ascii=False) + "\n")
                        n_documents += 1
                print(f"{package} {version}: {n_documents:,} documents, {n_bytes:,} characters")
    unfinished.rename(target)


def source_distributions(package: str, n_versions: int) -> list[tuple[str, str]]:
    """Versions of a package that have one, oldest first, and where it lies."""
    page = f"https://pypi.org/pypi/{package}/json"
    about = json.loads(fetch(page))
    found = []
    for version, files in about["releases"].items():
        for entry in files:
            if entry["packagetype"] == "sdist" and entry["filename"].endswith(".tar.gz"):
                address = urllib.parse.urljoin(page, entry["url"])
                found.append((entry["upload_time"], version, address))
    found.sort()
    found = found[len(found) // 3 :]  # the oldest are small, and of another world
    step = max(1, len(found) // n_versions)
    return [(version, address) for _, version, address in found[::-step][:n_versions]][::-1]


def python_files(archive: bytes) -> Iterator[tuple[str, str]]:
    """Path and text of each Python file of a source distribution."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as members:
        for member in members:
            if member.isfile() and member.name.endswith(".py"):
                content = members.extractfile(member)
                try:
                    text = content.read().decode() if content else ""
                except UnicodeDecodeError:
                    continue
                if len(text) >= LEAST_CHARACTERS:
                    yield member.name, text


def functions(text: str) -> list[str]:
    """The functions and methods of a Python file, and what stands before the first one."""
    return [part for part in FUNCTION.split(text) if len(part) >= LEAST_CHARACTERS]


def fetch(address: str) -> bytes:
    """What lies at an address."""
    with urllib.request.urlopen(address, timeout=120) as answer:
        return bytes(answer.read())


if __name__ == "__main__":
    main()
