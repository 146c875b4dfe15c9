"""A module in the wrong mode."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

WHAT = "train for eval, eval for train"
MAKES = (
    ("model.eval()\n", "model.train()\n"),
    ("self.net.train()\n", "self.net.eval()\n"),
    ("self.net.train(mode)\n", "self.net.train(not (mode))\n"),
)
LEAVES = ("eval('x')\n", "train()\n", "df.eval('a + b')\n", "trainer.train(a, b)\n", "model.train(True)\n")

_CALL = m.Call(func=m.Attribute(attr=m.Name("train") | m.Name("eval")), args=[])
_GIVEN = m.Call(func=m.Attribute(attr=m.Name("train")), args=[m.Arg(value=m.Name(), keyword=None, star="")])


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The other mode."""
    if m.matches(node, _CALL):
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        name = node.func.attr
        yield source.replace(name, "eval" if name.value == "train" else "train")
    elif m.matches(node, _GIVEN):
        assert isinstance(node, cst.Call)
        mode = node.args[0].value
        # Flags are turned by the operator of constants.
        if source.text(mode) not in ("True", "False"):
            yield source.replace(mode, f"not ({source.text(mode)})")
