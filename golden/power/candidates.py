"""Which mistakes can be planted where runs would see them, and in what order they are tried."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import xxhash

from golden.power.mistakes import Mistake, mistakes
from golden.power.reference import Reference
from golden.reach.changed import compiled


@dataclass(frozen=True, slots=True)
class Candidates:
    """Mistakes in drawn order; ``unreached`` counts those on lines that no run executes.

    ``idle`` are files of which no line runs.
    """

    found: tuple[Mistake, ...]
    unreached: int
    idle: tuple[str, ...]


def candidates(
    root: Path,
    files: Sequence[str],
    references: Sequence[Reference],
    touched: Mapping[str, frozenset[int]] | None,
) -> Candidates:
    """All mistakes in some files, in an order that chance decides and that is the same every time.

    With ``touched`` only those of statements that have one of its lines.
    """
    found: list[Mistake] = []
    unreached = 0
    idle: list[str] = []
    for path in files:
        if touched is None and not any(each.reached.files.get(path) for each in references):
            idle.append(path)
            continue
        ran = {each.run.name: each.reached.files.get(path, frozenset()) for each in references}
        for mistake, needed in mistakes(path, (root / path).read_bytes()):
            own = range(mistake.first, mistake.last + 1)
            if touched is not None and touched.get(path, frozenset()).isdisjoint(own):
                continue
            runs = tuple(name for name, at in ran.items() if needed & at)
            if runs:
                found.append(replace(mistake, runs=runs))
            else:
                unreached += 1
    found.sort(key=lambda each: xxhash.xxh3_64_hexdigest(f"draw {each.name}".encode()))
    return Candidates(tuple(found), unreached, tuple(idle))


def real(root: Path, drawn: Sequence[Mistake]) -> Iterator[tuple[Mistake, bool]]:
    """Each mistake, with whether it is one: not the same program, nor one that was drawn before."""
    seen: set[str] = set()
    texts: dict[str, bytes] = {}
    codes = {}
    for mistake in drawn:
        path = mistake.path
        if path not in texts:
            texts[path] = (root / path).read_bytes()
            codes[path] = compiled(texts[path])
        planted = mistake.planted(texts[path])
        code, before = compiled(planted), codes[path]
        digest = f"{path} {xxhash.xxh3_128_hexdigest(planted)}"
        fresh = digest not in seen
        seen.add(digest)
        yield (
            mistake,
            fresh and code is not None and before is not None and not same_program(before, code),
        )


def same_program(left: types.CodeType, right: types.CodeType) -> bool:
    """Whether two files have the same instructions and constants; lines and columns mean nothing here."""
    return _without_places(left) == _without_places(right)


def _without_places(code: types.CodeType) -> types.CodeType:
    constants = tuple(_without_places(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=constants, co_linetable=b"", co_firstlineno=1)
