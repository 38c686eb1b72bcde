"""The role of `single backticks` in docstrings: a link for a public name, code for all else."""

import importlib
import inspect

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxRole

ROOMS = (
    "datasets", "documents", "errors", "files", "io", "linear", "neighbors", "paper", "report",
    "text", "theory",
)  # fmt: skip


def public_names():
    """From what a docstring may say to the full name: `core1`, `files.train`, `Recipe.arrays`."""
    names = {}
    for room in (*ROOMS, None):  # the names of the package itself come last, and win
        path = "corekernels" + (f".{room}" if room else "")
        module = importlib.import_module(path)
        listed = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items() if inspect.isclass(value)
        ]
        for name in listed:
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            spoken = [name, f"{room}.{name}" if room else f"ck.{name}", f"{path}.{name}"]
            names |= dict.fromkeys(spoken, f"{path}.{name}")
    return names


class PublicRole(SphinxRole):
    def __init__(self):
        self.names = public_names()

    def run(self):
        code = nodes.literal(self.rawtext, self.text, classes=["xref", "py", "py-obj"])
        target = self.names.get(self.text.removesuffix("()"))
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
