"""Near-duplicates: all pairs of rows above a threshold.

`rows` keeps rows as they were read, `copies` tells equal ones by their digests, `tables` finds rows
that share a key of a hash table, `containment` those that share sampled columns, `comparison`
computes the exact kernel of such pairs. `search` puts these together for rows in memory,
`files.dedup` for rows in files. `result` is what comes back, and writes it.
"""
