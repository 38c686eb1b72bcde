"""The command line: parse, call a public function, print."""

from .app import app

__all__ = ["app"]
