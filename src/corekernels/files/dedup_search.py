"""Near-duplicates by parts, from the driver's side: from stored rows to a result."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core.progress import Steps, progress_bar
from ..neighbors.duplicates.candidates import missed_share
from ..neighbors.duplicates.copies import Copies
from ..neighbors.duplicates.result import NearDuplicates, too_many
from . import dedup_tasks as tasks
from .dedup_tasks import ComparedPairs, CopySets, DedupJob, KeyRange, PartFacts
from .engines import Engine

_PAIRS_PER_TASK = 1 << 20  # candidates that are compared
_LEAST_BYTES = 1 << 25  # for records that this process shuffles
_BYTES_PER_BYTE = 4  # of records while they are shuffled and sorted


@dataclass
class PartsSearch:
    """The steps from stored rows to a result, from the driver's side."""

    engine: Engine
    steps: Steps
    name: str
    driver_pairs: int

    def run(
        self, job: DedupJob, facts: Sequence[PartFacts], boundary: int | None
    ) -> NearDuplicates:
        """Take all steps, or those that are left."""
        ends = np.cumsum([0, *(fact.n_rows for fact in facts)])
        job = job._replace(firsts=ends[:-1], n_rows=int(ends[-1]), boundary=boundary)
        copies = self._copies(job)
        wanted = [
            (name, start, min(start + _PAIRS_PER_TASK, n_pairs))
            for name, n_pairs in self._candidates(job, copies)
            for start in range(0, n_pairs, _PAIRS_PER_TASK)
        ]
        n_pairs = 0

        def count(_: int, pairs: ComparedPairs) -> None:
            nonlocal n_pairs
            n_pairs += pairs.n_pairs
            if n_pairs > job.most_pairs:
                raise too_many(self.name, job.most_pairs)

        compared = self.engine.run(
            tasks.compare_part, job, wanted, what="comparing", progress=self.steps, done=count
        )
        if boundary is None and job.all_pairs:
            _, sizes = np.unique(copies.firsts, return_counts=True)
            n_pairs += int((sizes * (sizes + 1) // 2).sum())
        elif boundary is None:
            n_pairs += len(copies.rows)
        if n_pairs > job.most_pairs:
            raise too_many(self.name, job.most_pairs)
        names = [pairs.name for pairs in compared if pairs.n_found]
        return self._result(job, copies, names, n_pairs)

    def _rounds(self, job: DedupJob, n_bytes: int) -> int:
        """In how many shuffles so many bytes of records are moved."""
        if not self.engine.shuffles_here:
            return 1
        return max(1, -(-_BYTES_PER_BYTE * n_bytes // int(max(job.n_bytes, _LEAST_BYTES))))

    def _copies(self, job: DedupJob) -> Copies:
        if not job.work.file(CopySets.NAME).exists():
            found = []
            for low, high in _ranges(self._rounds(job, tasks.DIGESTS.itemsize * job.n_rows)):
                wanted = [(number, low, high) for number in range(len(job.firsts))]
                found += self.engine.shuffle(
                    tasks.digests_part, tasks.gather_copies, job, wanted, job.n_groups
                )
            CopySets.save(job, Copies(*map(np.concatenate, zip(*found, strict=True))))
        rows, firsts = CopySets(job).between(0, job.n_rows)
        order = np.argsort(rows)
        return Copies(rows[order], firsts[order])

    def _candidates(self, job: DedupJob, copies: Copies) -> list[tuple[str, int]]:
        """Parts of candidates, and how many there are in each."""
        saved = job.work.load("candidates")
        if saved is not None:
            return [(name, n_pairs) for name, n_pairs in saved[1]]
        if job.criterion.is_containment:
            candidates = [self._contained(job, copies)]
        else:
            self._hash(job, copies)
            with progress_bar(2, "sorting", "shuffles", self.steps) as bar:
                buckets = self._shuffle_keys(job, job.n_rows - len(copies.rows))
                bar.update(1)
                candidates = self._shuffle_pairs(job, buckets)
                bar.update(1)
        job.work.save("candidates", candidates)
        job.work.remove("bucket-pairs-*")
        return candidates

    def _hash(self, job: DedupJob, copies: Copies) -> None:
        """Write the keys of all rows that are no copies."""
        cuts = np.searchsorted(copies.rows, job.firsts)
        wanted = list(enumerate(np.split(copies.rows, cuts[1:])))
        self.engine.run(tasks.hash_part, job, wanted, what="hashing", progress=self.steps)

    def _shuffle_keys(self, job: DedupJob, n_hashed: int) -> list[tuple[str, int]]:
        """Parts of pairs of rows that share a key."""
        plan = job.criterion.tables
        assert plan is not None
        n_tables = plan.n_tables
        n_rounds = self._rounds(job, tasks.KEYS.itemsize * n_tables * n_hashed)
        cuts = np.linspace(0, n_tables, min(n_rounds, n_tables) + 1).astype(int).tolist()
        buckets = []
        for first, last in itertools.pairwise(cuts):
            for low, high in _ranges(-(-n_rounds // n_tables)):
                wanted = [
                    KeyRange(number, first, last, low, high) for number in range(len(job.firsts))
                ]
                buckets += self.engine.shuffle(
                    tasks.keys_part, tasks.gather_named_keys, job, wanted, job.n_groups
                )
        return [(name, n_pairs) for name, n_pairs in buckets if n_pairs]

    def _shuffle_pairs(
        self, job: DedupJob, buckets: Sequence[tuple[str, int]]
    ) -> list[tuple[str, int]]:
        """Parts of the same pairs, each once."""
        if not buckets:
            return []
        n_bytes = tasks.PAIRS.itemsize * sum(n_pairs for _, n_pairs in buckets)
        n_rounds = min(self._rounds(job, n_bytes), len(job.firsts))
        cuts = [*job.firsts[:: -(-len(job.firsts) // n_rounds)].tolist(), job.n_rows]
        candidates = []
        for first, last in itertools.pairwise(cuts):
            wanted = [(name, first * job.n_rows, last * job.n_rows) for name, _ in buckets]
            candidates += self.engine.shuffle(
                tasks.pairs_part, tasks.gather_candidates, job, wanted, job.n_groups
            )
        return [(name, n_pairs) for name, n_pairs in candidates if n_pairs]

    def _contained(self, job: DedupJob, copies: Copies) -> tuple[str, int]:
        """Candidates of containment, found in this process."""
        numbers = range(len(job.firsts))
        found = self.engine.run(
            tasks.sample_part, job, numbers, what="hashing", progress=self.steps
        )
        samples, lengths = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        is_first = lengths > 0
        is_first[copies.rows] = False
        pairs = tasks.contained_pairs(job, samples, lengths, is_first)
        return tasks.save_records(job, "candidates-00000", pairs), len(pairs)

    def _result(
        self, job: DedupJob, copies: Copies, names: Sequence[str], n_pairs: int
    ) -> NearDuplicates:
        """The pairs with those of copies; very many lie in files that are mapped into memory."""
        wanted: list[str | int] = [*names]
        if job.boundary is None:
            wanted += range(len(job.firsts))
        parts = []
        if n_pairs:
            parts = self.engine.shuffle(
                tasks.expand_pairs, tasks.gather_pairs, job, wanted, job.n_groups
            )
        pairs, values = np.empty((n_pairs, 2), np.int64), np.empty(n_pairs)
        if n_pairs > self.driver_pairs:
            pairs, values = (
                np.lib.format.open_memmap(job.work.file(name), "w+", like.dtype, like.shape)
                for name, like in (("all-pairs.npy", pairs), ("all-values.npy", values))
            )
        first = 0
        for part in parts:
            records = tasks.load_records(job, part)
            last = first + len(records)
            pairs[first:last, 0], pairs[first:last, 1] = np.divmod(records["pair"], job.n_rows)
            values[first:last] = records["value"]
            first = last
            job.work.remove(part)
        assert first == n_pairs
        plan, boundary = job.criterion.tables, job.boundary
        missed = plan.missed if plan else missed_share(job.criterion.threshold)
        if boundary is not None:
            pairs[:, 0] -= boundary
        n_rows = job.n_rows - (boundary or 0)
        return NearDuplicates(pairs, values, missed, n_rows, len(copies.rows), boundary)


def _ranges(n_parts: int) -> list[tuple[int, int]]:
    """The numbers of 64 bits in so many ranges, of which each has its last number."""
    ends = [((1 << 64) * part) // n_parts for part in range(n_parts + 1)]
    return [(low, high - 1) for low, high in itertools.pairwise(ends)]
