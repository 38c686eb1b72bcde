"""The role of `single backticks` in docstrings: a link for a public name, code for all else."""

import importlib
import inspect

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxRole

ROOMS = (
    "documents", "errors", "files", "io", "linear", "neighbors", "report", "text",
    "theory",
)  # fmt: skip


def public_names():
    """Full names of everything public, by what a docstring anywhere may call it.

    Names of a room are called `files.train`; alone only where they cannot be mistaken, as
    `SignatureReader` cannot.
    """
    names = {}
    for room in (*ROOMS, None):  # the names of the package itself come last, and win
        path = f"corekernels.{room}" if room else "corekernels"
        module = importlib.import_module(path)
        for name in getattr(module, "__all__", None) or vars(module):
            if name.startswith("_") or inspect.ismodule(getattr(module, name)):
                continue
            called = {f"{path}.{name}", f"{room}.{name}" if room else f"ck.{name}"}
            if room is None or not name.islower():
                called.add(name)
            names |= dict.fromkeys(called, f"{path}.{name}")
    return names


class PublicRole(SphinxRole):
    def __init__(self):
        self.names = public_names()

    def run(self):
        code = nodes.literal(self.rawtext, self.text, classes=["xref", "py", "py-obj"])
        name = self.text.removesuffix("()")
        here = f"{self.env.ref_context.get('py:module')}.{name}"
        target = self.names.get(here) or self.names.get(name)
        if target is None:
            code["classes"] = []
            return [code], []
        link = addnodes.pending_xref(
            self.rawtext, code, refdomain="py", reftype="obj", reftarget=target,
            refdoc=self.env.docname, refexplicit=True, refwarn=True,
        )  # fmt: skip
        return [link], []


def setup(app):
    app.add_role("public", PublicRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
