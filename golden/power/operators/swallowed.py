"""An error that nobody hears of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "an exception swallowed"
MAKES = (
    ("if bad:\n    raise ValueError(x)\n", "if bad:\n    pass\n"),
    ("try:\n    f()\nexcept E:\n    g()\n    raise\n", "try:\n    f()\nexcept E:\n    g()\n    pass\n"),
)
LEAVES = ("try:\n    f()\nexcept E:\n    pass\n", "def f():\n    raise NotImplementedError\n")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Nothing in place of what raises; as many lines as before."""
    if isinstance(node, cst.Raise) and not source.text(node).startswith("raise NotImplementedError"):
        first, last = source.lines(node)
        yield source.replace(node, "pass" + "\n" * (last - first))
