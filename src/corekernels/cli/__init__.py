"""The command line: parse, call a public function, print."""

from . import advice, dedup, files, kernels, learning, search, warmup
from .app import app

__all__ = ["advice", "app", "dedup", "files", "kernels", "learning", "search", "warmup"]
