"""The command line: parse, call a public function, print."""

from . import advice, files, kernels, learning
from .frame import app

__all__ = ["advice", "app", "files", "kernels", "learning"]
