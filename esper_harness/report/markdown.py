"""Blocks of Markdown that show any text as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from esper_harness.report.plain import visible

_LONGEST = 1000


def code(text: str) -> str:
    """Write text as inline code that also stands in a table's cell."""
    body = visible(text).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", body)), default=0))
    space = " " if "`" in body else ""
    return f"{fence}{space}{body}{space}{fence}"


def fenced(lines: Iterable[str], language: str = "text") -> list[str]:
    """Write lines as a block of code."""
    body = "\n".join(visible(line, _LONGEST) for line in lines)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", body)), default=0))
    return [f"{fence}{language}", body, fence]


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> Iterator[str]:
    """Write a table, its cells as they are given; columns of ``numbers`` are aligned to the right."""
    yield f"| {' | '.join(header)} |"
    yield "|" + "".join("---:|" if index in numbers else "---|" for index in range(len(header)))
    for row in rows:
        yield f"| {' | '.join(row)} |"
