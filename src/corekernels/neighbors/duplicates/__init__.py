"""Near-duplicates: all pairs of rows above a threshold.

`rows` keeps rows as they were read, and computes the exact kernel of pairs; `copies` tells equal
rows by their digests; `candidates` finds rows that share a key of a hash table, or sampled columns.
`search` puts these together for rows in memory, `files.dedup_parts` for parts of them. `result` is
what comes back, and writes it.
"""
