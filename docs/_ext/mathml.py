"""Formulas as MathML: browsers typeset it by themselves, without a script or a network."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def _inline(writer, node):
    writer.body.append(convert(node.astext(), display="inline"))
    raise SkipNode


def _block(writer, node):
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
