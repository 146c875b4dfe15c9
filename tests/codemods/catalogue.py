"""Programs as Markdown: a case is a heading of the second level, with the code that refuses it, if one does.

## what it is about

- refused: CODE

```python
the program
```
"""

from __future__ import annotations

import re
from pathlib import Path

_CASE = re.compile(r"^## (.*)\n\n(?:- refused: (.*)\n\n)?```python\n((?:.*\n)*?)```$", re.MULTILINE)


def read(path: Path) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """The programs that are rewritten, and those that are refused, with the code; by their headings."""
    cases = _CASE.findall(path.read_text("utf-8"))
    kept = {name: program for name, code, program in cases if not code}
    return kept, {name: (code, program) for name, code, program in cases if code}
