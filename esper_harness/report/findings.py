"""The data that writers are given: findings of a tool, and cases that passed or failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class Location:
    """A part of a file. Paths are relative to the repository, lines and columns count from 1."""

    path: str
    line: int = 1
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of finding.

    Attributes:
        id: what findings refer to.
        text: the kind in a line.
        name: a readable name.
        why: the reason for the rule.
        help: what to do about a finding.
        enabled: whether the tool looks for it unless it is told otherwise.
    """

    id: str
    text: str
    name: str | None = None
    why: str | None = None
    help: str | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class Suppression:
    """The reason for which a finding doesn't count: stated in the source, or elsewhere."""

    kind: Literal["inSource", "external"]
    justification: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    Attributes:
        rule: id of its rule.
        fingerprint: its identity by the name of a scheme, the same wherever its code moves.
        path: places on the way to it, each with a text, outermost first.
        state: what it is compared with an earlier version; None if nothing was compared.
    """

    rule: str
    message: str
    location: Location
    fingerprint: tuple[str, str]
    level: Literal["error", "warning", "note"] = "error"
    path: Sequence[tuple[Location, str]] = ()
    suppression: Suppression | None = None
    state: Literal["new", "unchanged", "absent"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program that has findings; ``complete`` unless a part of it could not run."""

    name: str
    version: str
    rules: Sequence[Rule]
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that was tested.

    Attributes:
        group: the class that a viewer shows it under.
        message: why it did not pass.
        kind: a code for the reason.
        lines: more about it.
    """

    group: str
    name: str
    outcome: Outcome = "passed"
    message: str | None = None
    kind: str | None = None
    lines: Sequence[str] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases that belong together, and how long they took."""

    name: str
    cases: Sequence[Case]
    seconds: float | None = None
