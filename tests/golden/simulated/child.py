"""Programs that are run on simulated devices, each in a process of its own."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from golden.simulated.child import run
from golden.simulated.result import Result, read_result

_EXPECTED = re.compile(r"#: (.+)$")


def seen(folder: Path, source: str, *, devices: int = 1, name: str = "train.py") -> Result:
    """What a program showed that ran to its end."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(source)
    status = run(["python", name], root=folder, out=folder / "out", devices=devices)
    assert status == 0
    found = read_result(folder / "out")
    assert found is not None
    return found


def expected(source: str) -> Counter[tuple[str, str]]:
    """The syncs that comments say: ``#: 2 item, 1 mask``, by line and kind."""
    found: Counter[tuple[str, str]] = Counter()
    for line in source.splitlines():
        match = _EXPECTED.search(line)
        for part in match[1].split(", ") if match else ():
            count, _, kind = part.partition(" ")
            found[line.strip(), kind] += int(count)
    return found


def counted(result: Result) -> Counter[tuple[str, str]]:
    """The syncs of a result, by line and kind."""
    found: Counter[tuple[str, str]] = Counter()
    for sync in result.syncs:
        found[sync.text, sync.kind] += sync.count
    return found
