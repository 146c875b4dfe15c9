"""A plan: which mutants are tried, by which runs, in which order."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import xxhash

from golden.mutate.mutants import Mutant, mutants
from golden.mutate.original import Original
from golden.reach.changes import compiled
from golden.record import Run
from golden.trace.errors import NothingComparable


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question to the runs.

    Attributes:
        runs: the golden runs.
        paths: files and folders, relative to the tree; none for all of it.
        base: a git ref: only statements that the working tree changed since.
        most: how many mutants at most.
        minutes: for how long mutants are begun; None for no limit.
        workers: how many programs run at a time; None for one per core.
    """

    runs: Sequence[Run]
    paths: Sequence[str] = ()
    base: str | None = None
    most: int | None = None
    minutes: float | None = 10.0
    workers: int | None = None


class NothingChanged(NothingComparable):
    """A change has no statement that can be mutated, whether it runs or not."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The mutants that are tried, in order.

    ``base`` is the git ref whose changes count, None for whole files. ``possible`` are all on lines that the
    runs execute, in the order of the draw; ``unreached`` counts those on lines that no run executes,
    ``equivalent`` those that were drawn and make no other program. No line of the ``idle`` files runs.
    ``seconds`` is how long it should take.
    """

    base: str | None
    originals: Mapping[str, Original]
    possible: tuple[Mutant, ...]
    unreached: int
    idle: tuple[str, ...]
    drawn: tuple[Mutant, ...]
    equivalent: int
    seconds: float

    def reached_by(self, run: str) -> int:
        """Count the possible mutants on lines that a run executes."""
        return sum(run in mutant.runs for mutant in self.possible)


def make_plan(
    asked: Request,
    root: Path,
    files: Sequence[str],
    touched: Mapping[str, frozenset[int]] | None,
    originals: Sequence[Original],
    workers: int,
) -> Plan:
    """Draw from the mutants of some files, those that are on lines which the originals executed.

    ``touched`` has the lines of which a statement must have one, by file; None for all. Raises
    `NothingComparable` where there is no mutant.
    """
    by_name = {each.run.name: each for each in originals}
    idle: list[str] = []
    found: list[Mutant] = []
    unreached = 0
    for path in files:
        ran = {name: each.reached.files.get(path, frozenset()) for name, each in by_name.items()}
        if touched is None and not any(ran.values()):
            idle.append(path)
            continue
        for mutant in mutants(path, (root / path).read_bytes()):
            own = range(mutant.first, mutant.last + 1)
            if touched is not None and touched.get(path, frozenset()).isdisjoint(own):
                continue
            if runs := tuple(name for name, lines in ran.items() if mutant.needs & lines):
                found.append(replace(mutant, runs=runs))
            else:
                unreached += 1
    if not found:
        if touched is not None and not unreached:
            raise NothingChanged(f"nothing that changed since {asked.base} can be mutated")
        where = "changed lines of Python" if touched is not None else "lines"
        raise NothingComparable(
            f"no mutant can be made of {where} that these runs execute "
            f"({unreached} on lines that none executes)"
        )
    # An order that chance decides, and that is the same every time.
    found.sort(key=lambda each: xxhash.xxh3_64_hexdigest(f"draw {each.name}".encode()))
    drawn: list[Mutant] = []
    equivalent, seconds = 0, 0.0
    limit = None if asked.minutes is None else asked.minutes * 60 * workers
    for mutant, is_other in _told_apart(root, found):
        if not is_other:
            equivalent += 1
            continue
        # As if the shortest of its runs killed each of them.
        cost = min(by_name[name].seconds for name in mutant.runs)
        enough = asked.most is not None and len(drawn) >= asked.most
        if enough or (limit is not None and drawn and seconds + cost > limit):
            break
        drawn.append(mutant)
        seconds += cost
    return Plan(
        asked.base,
        by_name,
        tuple(found),
        unreached,
        tuple(idle),
        tuple(drawn),
        equivalent,
        seconds / workers,
    )


def _told_apart(root: Path, found: Sequence[Mutant]) -> Iterator[tuple[Mutant, bool]]:
    """Yield each mutant, with whether it is another program than the original and those before it."""
    seen: set[tuple[str, bytes]] = set()
    texts: dict[str, bytes] = {}
    codes: dict[str, types.CodeType | None] = {}
    for mutant in found:
        path = mutant.path
        if path not in texts:
            texts[path] = (root / path).read_bytes()
            codes[path] = compiled(texts[path])
        text = mutant.applied(texts[path])
        key = path, xxhash.xxh3_128_digest(text)
        code, before = compiled(text), codes[path]
        fresh = key not in seen
        seen.add(key)
        yield mutant, fresh and code is not None and before is not None and not same_program(before, code)


def same_program(left: types.CodeType, right: types.CodeType) -> bool:
    """Tell whether two files have the same instructions and constants, wherever their lines are."""
    return _without_places(left) == _without_places(right)


def _without_places(code: types.CodeType) -> types.CodeType:
    constants = tuple(_without_places(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=constants, co_linetable=b"", co_firstlineno=1)
