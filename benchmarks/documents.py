"""Near-duplicate documents, beside rensa, datasketch, text-dedup and datatrove.

    python benchmarks/pypi_corpus.py corpus.jsonl
    python benchmarks/documents.py corpus.jsonl --peers PYTHON --rows 20000 118755
    python benchmarks/short_corpus.py 10000000 short.jsonl
    python benchmarks/documents.py short.jsonl --peers PYTHON --rows 1000000 10000000 \\
        --only corekernels rensa

PYTHON has the peers installed; those that are missing are left out, with the reason. Every
contender is a process of its own that reads the JSON lines, makes 3-grams of the same words,
and finds documents of a resemblance of 0.8 and more; its wall clock time, the processor time
of all its threads and processes, and its largest memory are taken. Peers keep 128 minima per
document in 16 bands of 8; they name candidates, which nobody compares afterwards, while
corekernels compares every candidate exactly.
"""

import argparse
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

THRESHOLD, N_MINIMA, N_BANDS, BAND_ROWS = 0.8, 128, 16, 8
WORD = re.compile(r"\w\w+")
SPEED_BYTES, SPEED_ROUNDS = 20_000_000, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--peers", default=sys.executable, help="Python that has the peers")
    parser.add_argument("--rows", type=int, nargs="*", default=[20_000])
    parser.add_argument("--checked", type=int, default=6000, help="documents for the exact check")
    parser.add_argument("--only", nargs="*", default=list(CONTENDERS))
    parser.add_argument("--slow-peers", type=int, default=20_000, help="most documents for them")
    parser.add_argument("--gigabytes", type=float, default=8.0, help="memory a peer may take")
    parser.add_argument("--out", type=Path, help="JSON file of the results")
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        parts = CONTENDERS | {"features": features, "check": check}
        print(json.dumps(parts[options.contender](options.corpus)))
        return
    results: dict[str, dict[str, object]] = {"machine": about()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        part = first_rows(options.corpus, options.checked, folder)
        compare(part, "", ["corekernels"], None)  # compiles the loops
        results |= compare(part, "", ["features", "check"], None)
        for n_rows in options.rows:
            part = first_rows(options.corpus, n_rows, folder)
            names = [
                name
                for name in options.only
                if name not in SLOW_PEERS or n_rows <= options.slow_peers
            ]
            for name in names:  # a long run that is stopped has what it measured
                found = compare(part, options.peers, [name], options.gigabytes)
                results[f"{n_rows}"] = results.get(f"{n_rows}", {}) | found
                if options.out:
                    options.out.write_text(json.dumps(results, indent=1) + "\n")
            part.unlink()


def compare(
    corpus: Path, peers: str, names: list[str], gigabytes: float | None
) -> dict[str, object]:
    """Each contender on one corpus; memory of peers is limited."""
    found: dict[str, object] = {"bytes": corpus.stat().st_size}
    for name in names:
        python = peers if name in PEERS else sys.executable
        command = [python, __file__, str(corpus), "--contender", name]
        found[name] = measured(command, corpus.parent, gigabytes if name in PEERS else None)
        print(f"{corpus.stat().st_size / 1e6:,.0f} MB, {name}: {found[name]}", flush=True)
    return found


def measured(command: list[str], folder: Path, gigabytes: float | None) -> dict[str, object]:
    """What a command takes; resources of its own children are counted too."""

    def limit() -> None:
        if gigabytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 1e9),) * 2)

    with open(folder / "output", "w+b") as output, open(folder / "errors", "w+b") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=output, stderr=errors, cwd=folder, preexec_fn=limit
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"status {status}"
            return {"failed": reason, "gigabytes_allowed": gigabytes}
        output.seek(0)
        result = json.loads(output.read().splitlines()[-1])
    result |= {
        "seconds": round(seconds, 1), "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "megabytes": round(used.ru_maxrss / 1024),
    }  # fmt: skip
    return result


def corekernels(corpus: Path) -> dict[str, object]:
    """All pairs, each compared exactly."""
    import corekernels as ck

    reader = ck.documents.open_documents(
        corpus, shingles=ck.text.Shingles(ngrams=3, weights="binary")
    )
    found = ck.files.near_duplicates(
        reader, THRESHOLD, "resemblance", all_pairs=False, working_memory=128, progress=False
    )
    return {"documents": found.rows, "dropped": len(found.redundant()), "pairs": len(found.pairs)}


def rensa(corpus: Path) -> dict[str, object]:
    """Documents that share a band with another one."""
    import rensa

    lsh, n_rows, n_flagged = rensa.RMinHashLSH(THRESHOLD, N_MINIMA, N_BANDS), 0, 0
    for sets in batches(shingle_sets(corpus), 1000):
        minima = rensa.RMinHash.digest_matrix_from_token_sets(sets, N_MINIMA, 42)
        flags = lsh.insert_matrix_and_query_duplicate_flags(minima, n_rows)
        n_rows, n_flagged = n_rows + len(sets), n_flagged + sum(flags)
    return {"documents": n_rows, "flagged": n_flagged}


def datasketch(corpus: Path) -> dict[str, object]:
    """Documents near an earlier one, by its index."""
    from datasketch import MinHash, MinHashLSH

    lsh, n_rows, n_dropped = MinHashLSH(num_perm=N_MINIMA, params=(N_BANDS, BAND_ROWS)), 0, 0
    for tokens in shingle_sets(corpus):
        minima = MinHash(num_perm=N_MINIMA)
        minima.update_batch([token.encode() for token in tokens])
        n_dropped += bool(lsh.query(minima))
        lsh.insert(n_rows, minima)
        n_rows += 1
    return {"documents": n_rows, "dropped": n_dropped}


def text_dedup(corpus: Path) -> dict[str, object]:
    """The project's own script; its words are split differently."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "path": "json", "data_files": corpus, "split": "train", "column": "text",
            "cache_dir": folder, "output": f"{folder}/out", "ngram": 3, "min_length": 1,
            "num_perm": N_MINIMA, "b": N_BANDS, "r": BAND_ROWS, "hash_func": "xxh3",
            "num_proc": os.cpu_count(), "batch_size": 1000,
        }  # fmt: skip
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [sys.executable, "-m", "text_dedup.minhash", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {"documents": None}


def datatrove(corpus: Path) -> dict[str, object]:
    """Its four steps, one after the other, in one task."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline import dedup
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter
    from datatrove.utils.hashing import HashConfig

    config = dedup.MinhashConfig(
        n_grams=3, num_buckets=N_BANDS, hashes_per_bucket=BAND_ROWS,
        hash_config=HashConfig(hash_fc="xxhash"),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        reader = JsonlReader(str(corpus.parent), glob_pattern=corpus.name)
        minima, buckets, removed = (f"{folder}/{name}" for name in ("minima", "buckets", "removed"))
        filtered = dedup.MinhashDedupFilter(input_folder=removed)
        steps = [
            ([reader, dedup.MinhashDedupSignature(output_folder=minima, config=config)], 1),
            ([dedup.MinhashDedupBuckets(minima, buckets, config=config)], N_BANDS),
            ([dedup.MinhashDedupCluster(buckets, removed, config=config)], 1),
            ([reader, filtered, JsonlWriter(f"{folder}/out")], 1),
        ]
        for number, (pipeline, tasks) in enumerate(steps):
            LocalPipelineExecutor(
                pipeline, tasks=tasks, workers=1, logging_dir=f"{folder}/log{number}"
            ).run()
    return {"documents": None}


PEERS = {
    "rensa": rensa, "datasketch": datasketch, "text-dedup": text_dedup, "datatrove": datatrove,
}  # fmt: skip
SLOW_PEERS = ("datasketch", "text-dedup", "datatrove")
CONTENDERS = {"corekernels": corekernels, **PEERS}


def shingle_sets(corpus: Path):
    """The 3-grams of each document, of the words that corekernels takes."""
    with open(corpus, encoding="utf-8") as file:
        for line in file:
            words = WORD.findall(json.loads(line)["text"].lower())
            yield list(
                {f"{a} {b} {c}" for a, b, c in zip(words, words[1:], words[2:], strict=False)}
            )


def batches(items, size: int):
    """Lists of so many items."""
    items = iter(items)
    while some := list(itertools.islice(items, size)):
        yield some


def check(corpus: Path) -> dict[str, object]:
    """Pairs found by tables on the disk against all pairs, from a product of matrices."""
    import numpy as np
    from scipy import sparse

    import corekernels as ck

    shingles = ck.text.Shingles(ngrams=3, weights="binary")
    reader = ck.documents.open_documents(corpus, shingles=shingles)
    X = sparse.vstack([batch.X for batch in reader], format="csr")
    _, columns = np.unique(X.indices, return_inverse=True)
    X = sparse.csr_array((np.ones(X.nnz, np.float32), columns, X.indptr))
    lengths, expected = np.diff(X.indptr), set()
    for start in range(0, X.shape[0], 500):
        shared = (X[start : start + 500] @ X.T).tocoo()
        i, j = shared.coords[0] + start, shared.coords[1]
        near = (shared.data >= THRESHOLD * (lengths[i] + lengths[j] - shared.data)) & (i < j)
        expected |= set(zip(i[near].tolist(), j[near].tolist(), strict=True))
    found = ck.files.near_duplicates(
        reader, THRESHOLD, "resemblance", working_memory=1, progress=False
    )
    pairs = set(map(tuple, found.pairs.tolist()))
    return {
        "documents": X.shape[0], "pairs": len(expected), "recall": len(pairs & expected)
        / max(1, len(expected)), "below_threshold": len(pairs - expected),
    }  # fmt: skip


def features(corpus: Path) -> dict[str, object]:
    """Rows of words: corekernels and HashingVectorizer, one thread each, processor seconds."""
    from sklearn.feature_extraction.text import HashingVectorizer

    import corekernels as ck
    from measure import interleaved

    texts, size = [], 0
    with open(corpus, encoding="utf-8") as file:
        for line in file:
            texts.append(json.loads(line)["text"])
            size += len(texts[-1].encode())
            if size > SPEED_BYTES:
                break
    makers = {
        "corekernels": ck.text.Shingles(weights="counts", n_jobs=1),
        "HashingVectorizer": HashingVectorizer(norm=None, alternate_sign=False),
    }
    times = interleaved(
        {name: partial(maker.transform, texts) for name, maker in makers.items()}, SPEED_ROUNDS
    )
    seconds = {name: found["processor"] for name, found in times.items()}
    ratio = seconds["HashingVectorizer"] / seconds["corekernels"]
    speed = size / seconds["corekernels"] / 1e6
    return {"text_megabytes": size / 1e6, **seconds, "ratio": ratio, "megabytes_per_second": speed}


def first_rows(corpus: Path, n_rows: int, folder: Path) -> Path:
    """A file of the first documents."""
    part = folder / f"first-{n_rows}.jsonl"
    with open(corpus, "rb") as file, open(part, "wb") as out:
        out.writelines(itertools.islice(file, n_rows))
    return part


def about() -> dict[str, object]:
    """What the numbers were measured on."""
    names = ("corekernels", "numpy", "numba", "pyarrow", "scikit-learn")
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "versions": {name: version(name) for name in names},
    }


if __name__ == "__main__":
    main()
