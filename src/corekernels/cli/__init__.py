"""The command line: parse, call a public function, print."""

from . import advice, files, kernels, learning, paper, searching
from .frame import app

__all__ = ["advice", "app", "files", "kernels", "learning", "paper", "searching"]
