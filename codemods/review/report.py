"""Outcome of a review, unit by unit: proven, aligned, or left to read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from codemods.review.spelling import Renaming
from codemods.review.units import MODULE


@dataclass(frozen=True, slots=True)
class Place:
    """A unit where it stands: path, name in its file, first line."""

    path: str
    qualname: str
    line: int


@dataclass(frozen=True, slots=True)
class Left:
    """Lines that are neither proven nor aligned, first and last.

    `id` stays when what they say moves; `text` is that, in one line.
    """

    path: str
    first: int
    last: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Early(Left):
    """Lines that may read a name of a module before the module has bound it, as they did not before."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class Same:
    """The same instructions, and every name in them means the same: proven."""

    base: Place
    head: Place


@dataclass(frozen=True, slots=True)
class Renamed:
    """As `Same`, under another name that all uses follow: proven."""

    base: Place
    head: Place


@dataclass(frozen=True, slots=True)
class Lifted:
    """As `Same`, but that captures became parameters which every call passes: proven by the lift's rules."""

    base: Place
    head: Place


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Not proven; its statements stand on the other side in their order, spread over other units."""

    base: Place | None
    head: Place | None
    id: str

    @property
    def place(self) -> Place:
        """Where it stands, in the head if it does there."""
        place = self.head or self.base
        assert place is not None
        return place


@dataclass(frozen=True, slots=True)
class Changed:
    """Statements that remain to be read on both sides, and names that mean something else now."""

    base: Place
    head: Place
    gone: tuple[Left, ...]
    new: tuple[Left, ...]
    names: tuple[Renaming, ...] = ()


@dataclass(frozen=True, slots=True)
class New:
    """On the head's side only; `left` is what is not aligned."""

    head: Place
    left: tuple[Left, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """On the base's side only; `left` is what is not aligned."""

    base: Place
    left: tuple[Left, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """A name that other files import from here, and that is gone or means something else."""

    path: str
    name: str
    users: tuple[str, ...]
    id: str


@dataclass(frozen=True, slots=True)
class Met(Lost):
    """A name that a module did not have before, and that other files get by a star import; or a module that
    they get in place of another one.
    """

    @property
    def how(self) -> str:
        """By what they get it."""
        return "in place of another module" if self.name == MODULE else "by a star import"


@dataclass(frozen=True, slots=True)
class NotLifted:
    """A helper that the head has as a function of its module, and why that is not proven."""

    path: str
    qualname: str
    line: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A file of the change that no instruction can be compared of, and why."""

    path: str
    why: str
    id: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """A unit, or what is told beside units, of which all that was left has been read and accepted."""

    base: Place | None
    head: Place | None
    reasons: tuple[str, ...]


Outcome = Same | Renamed | Lifted | Regrouped | Changed | New | Gone | Accepted


@dataclass(frozen=True, slots=True)
class Review:
    """The whole change; `statements` counts those of units that differ, on the base's side and the head's.

    `not_python` are files that differ and are not compared; they leave the change as clean as it is.
    """

    outcomes: tuple[Outcome, ...]
    imports: tuple[Left, ...]
    dropped: tuple[Left, ...]
    order: tuple[Left, ...]
    early: tuple[Early, ...]
    lost: tuple[Lost, ...]
    met: tuple[Met, ...]
    not_lifted: tuple[NotLifted, ...]
    not_judged: tuple[NotJudged, ...]
    not_python: tuple[str, ...]
    files: int
    statements: tuple[int, int]
    accepted: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    def of(self, *kinds: type[Outcome]) -> list[Outcome]:
        """Outcomes of some kinds."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, kinds)]

    @property
    def left(self) -> tuple[int, int]:
        """How many statements are left to read, on the base's side and the head's.

        One that binds many names of its module is left of each of them, and counts once.
        """
        changed = [one for one in self.outcomes if isinstance(one, Changed)]
        gone = [one.left for one in self.outcomes if isinstance(one, Gone)]
        new = [one.left for one in self.outcomes if isinstance(one, New)]
        return (
            _statements([*gone, *(one.gone for one in changed)]),
            _statements([*new, *(one.new for one in changed)]),
        )

    @property
    def clean(self) -> bool:
        """Is nothing left to read, and nothing that could not be judged?"""
        proven = all(isinstance(outcome, Same | Renamed | Lifted | Accepted) for outcome in self.outcomes)
        besides = (self.imports, self.dropped, self.order, self.early, self.lost, self.met, self.not_judged)
        return proven and not any(besides) and not self.stale


def _statements(found: Iterable[Iterable[Left]]) -> int:
    return len({(left.path, left.first, left.last, left.text) for each in found for left in each})
