"""What of a change ran, as data for other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from golden.reach.changed import Changed
from golden.reach.reached import Reached, together


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Lines(_Table):
    """Lines of one side's files.

    Attributes:
        changed: those that the other side does not have in their place and on which code stands, by file.
        ran: those of them that a run executed.
    """

    changed: dict[str, tuple[int, ...]]
    ran: dict[str, tuple[int, ...]]


class RunEvidence(_Table):
    """One run.

    Attributes:
        name: what it is called.
        code: the exit status that its verdict asks for.
        known: whether it came far enough for its lines to be known.
        before: of the base.
        after: of the head.
    """

    name: str
    code: int
    known: bool
    before: Lines
    after: Lines


class Evidence(_Table):
    """What `golden ab --base` knows of a change.

    Attributes:
        format: of this document.
        base: the ref.
        head: the ref, or null for the working tree.
        problem: why lines are not known; empty if they are.
        runs: each run with the lines that it executed.
        before: of the base, in at least one run.
        after: of the head, in at least one run.
    """

    format: Literal[1] = 1
    base: str
    head: str | None
    problem: str
    runs: tuple[RunEvidence, ...]
    before: Lines
    after: Lines


def document(
    base: str,
    head: str | None,
    changed: tuple[Changed, Changed],
    runs: Sequence[tuple[str, int, tuple[Reached, Reached] | None]],
) -> Evidence:
    """The document of some runs: name, exit status, what each side reached."""
    nothing = Reached({}), Reached({})
    known = [reached for _, _, reached in runs if reached is not None]
    both = [together(pair[side] for pair in known) for side in (0, 1)]
    return Evidence(
        base=base,
        head=head,
        problem=both[0].problem or both[1].problem or ("" if known else "no run came to its end"),
        runs=tuple(
            RunEvidence(
                name=name,
                code=code,
                known=reached is not None,
                before=_lines(changed[0], (reached or nothing)[0]),
                after=_lines(changed[1], (reached or nothing)[1]),
            )
            for name, code, reached in runs
        ),
        before=_lines(changed[0], both[0]),
        after=_lines(changed[1], both[1]),
    )


def _lines(changed: Changed, reached: Reached) -> Lines:
    return Lines(changed=_sorted(changed.lines), ran=_sorted(changed.ran(reached).lines))


def _sorted(lines: Mapping[str, frozenset[int]]) -> dict[str, tuple[int, ...]]:
    return {path: tuple(sorted(found)) for path, found in sorted(lines.items()) if found}
