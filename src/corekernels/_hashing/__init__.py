"""From rows to signatures: each way of hashing is a sketch."""

SCHEMES = ("circulant", "independent")  # each is a module here, with a function `make_sketch`
