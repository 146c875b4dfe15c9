"""Programs with a main loop: those that are carried out, and those that are refused, with the code."""

from __future__ import annotations

import re
from pathlib import Path

TAKEN: dict[str, str] = {}
REFUSED: dict[str, tuple[str, str]] = {}

_CASE = re.compile(r"^## (.*)\n\n(?:- refused: (.*)\n\n)?```python\n((?:.*\n)*?)```$", re.MULTILINE)
for _name, _code, _program in _CASE.findall(Path(__file__).with_name("loops.md").read_text("utf-8")):
    if _code:
        REFUSED[_name] = (_code, _program)
    else:
        TAKEN[_name] = _program
