"""Pairs of programs as Markdown: a case is a heading of the second level, and the files below it.

```python before [NAME]     a file of the base; NAME is main.py if left out
```python after [NAME]      a file of the head
```python both [NAME]       a file of either
"""

from __future__ import annotations

import re
from pathlib import Path

Pair = tuple[dict[str, str], dict[str, str]]
_FENCE = re.compile(r"^```\w+ (before|after|both) ?(.*)\n((?:.*\n)*?)```$", re.MULTILINE)


def read(name: str) -> dict[str, Pair]:
    """Both versions of each case of a file of this folder, by title."""
    cases: dict[str, Pair] = {}
    text = Path(__file__).with_name(name).read_text("utf-8")
    for block in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = block.partition("\n")
        before, after = cases.setdefault(title, ({}, {}))
        for side, file, program in _FENCE.findall(body):
            for files in {"before": [before], "after": [after], "both": [before, after]}[side]:
                files[file or "main.py"] = program
    return cases
