"""Write allow comments at findings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from codemods.hotpath.pragmas import with_pragma
from codemods.hotpath.results import Finding
from codemods.program.source import SourceError, read_source


def add_pragmas(findings: Iterable[Finding], project: Path, reason: str) -> list[tuple[str, int]]:
    """Write a comment with a reason at the end of every finding's last line; paths with how many.

    All files are composed and parsed before one is written.

    Raises:
        SourceError: for a file that can't be read, or a line that can't take a comment.
    """
    wanted: dict[str, dict[int, set[str]]] = {}
    for finding in findings:
        if finding.loop is not None:
            wanted.setdefault(finding.place.path, {}).setdefault(finding.place.end_line, set()).add(
                finding.code
            )
    composed: list[tuple[Path, bytes, str, int]] = []
    for path, lines in sorted(wanted.items()):
        source = read_source(project / path, path)
        rows = list(source.lines)
        for line, codes in lines.items():
            row = rows[line - 1]
            if "# hotpath:" in row or row.rstrip("\r\n").endswith("\\"):
                raise SourceError(f"{path}:{line}: can't take a comment of its own; write it by hand")
            rows[line - 1] = with_pragma(row, codes, " ".join(reason.split()))
        text = "".join(rows)
        _unchanged(source.text, text, path, lines)
        composed.append((project / path, source.encode(text), path, len(lines)))
    for target, data, _, _ in composed:
        temporary = target.with_name(f".{target.name}.hotpath")
        temporary.write_bytes(data)
        temporary.chmod(target.stat().st_mode)
        os.replace(temporary, target)  # noqa: PTH105 (as atomic as it gets, also on Windows)
    return [(path, number) for _, _, path, number in composed]


def _unchanged(before: str, after: str, path: str, lines: Iterable[int]) -> None:
    """See to it that the program is the same: a line may end inside a string."""
    import ast

    try:
        same = ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except SyntaxError:
        same = False
    if not same:
        first = min(lines)
        raise SourceError(f"{path}:{first}: a comment there would change the program; write it by hand")
