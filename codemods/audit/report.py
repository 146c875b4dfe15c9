"""The preflight report as data: everything that the renderings print, and the shape of the JSON.

Paths are relative to the root and have forward slashes; lines count from 1. Where a repository or tests
folder was not searched, what it would have told is None, never empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["parameter", "local", "import", "helper", "class", "exception", "pattern", "nonlocal"]
DefinitionKind = Literal["function", "class", "constant"]


@dataclass(frozen=True, slots=True)
class Capture:
    """A variable of an enclosing function that a helper reads.

    Attributes:
        name: of the variable.
        owner: qualified name of the function it belongs to.
        bound_as: how it gets its value; by its first binding, where there are several.
        origin: the dotted path, for an import.
        bound: lines that bind it, the first one first.
    """

    name: str
    owner: str
    bound_as: Bound
    origin: str | None
    bound: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A use of a helper: its line, and the innermost function around it."""

    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Lifted:
    """The helper can be lifted, with these captures (elsewhere: and globals) as keyword-only parameters."""

    passed: tuple[str, ...]
    status: Literal["lifted"] = "lifted"


@dataclass(frozen=True, slots=True)
class Refused:
    """The helper stays: which rule, the line that forbids it, why, and what would allow it."""

    code: str
    line: int
    reason: str
    way_out: str
    status: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True)
class Movable:
    """The definition can move to another file, with all others of which that is said."""

    status: Literal["moved"] = "moved"


@dataclass(frozen=True, slots=True)
class DefinitionReport:
    """A function, class or constant of the module.

    Attributes:
        needs: names that the module itself binds and that it reads.
        moved: whether a plan could move it to another file; None for what the module is run by.
    """

    name: str
    kind: DefinitionKind
    line: int
    end_line: int
    needs: tuple[str, ...]
    moved: Movable | Refused | None


@dataclass(frozen=True, slots=True)
class HelperReport:
    """One helper.

    Attributes:
        strategy: what a lift within the file does.
        moved: what a lift into another file does, where the file's own names have to be passed as well.
    """

    name: str
    qualname: str
    line: int
    end_line: int
    captures: tuple[Capture, ...]
    calls: tuple[Place, ...]
    values: tuple[Place, ...]
    strategy: Lifted | Refused
    moved: Lifted | Refused

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.end_line - self.line + 1


@dataclass(frozen=True, slots=True)
class SeamPlace:
    """Where a test replaces a name, in which test, and how."""

    path: str
    line: int
    test: str
    how: str


@dataclass(frozen=True, slots=True)
class SeamReport:
    """A name that tests replace in the module.

    Attributes:
        name: below the module; ``*`` where only a run would tell.
        rebinds: whether the module's own name is replaced, not an attribute of what it refers to.
        read_by: qualified names of the functions of the file that read it.
    """

    name: str
    rebinds: bool
    read_by: tuple[str, ...]
    places: tuple[SeamPlace, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Names of a loop's state that are read, written and passed together: a class for `[loop.state]`."""

    name: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoopState:
    """Variables that a function's main loop needs once the helpers are lifted to other files.

    Attributes:
        fields: the variables, which become fields of the loop's class.
        groups: proposed where there are too many for one class.
    """

    line: int
    fields: tuple[str, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """One function with helpers.

    Attributes:
        own_lines: its lines without those of its helpers.
        seams: those that the function or its helpers read; None if no tests were searched.
        loop: what its main loop needs; None if it has no one loop that could become a method.
    """

    name: str
    qualname: str
    line: int
    end_line: int
    own_lines: int
    helpers: tuple[HelperReport, ...]
    seams: tuple[SeamReport, ...] | None
    loop: LoopState | None

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.end_line - self.line + 1


@dataclass(frozen=True, slots=True)
class Report:
    """The preflight report of one file.

    Attributes:
        other_seams: seams that none of the reported functions reads; None if no tests were searched.
        tried: whether the plan was carried out in memory on the repository.
        tests: folders that were searched for seams.
        definitions: what the module defines; None where one function was asked for.
        plan: one that moves what can be moved of them; None if there is none.
        no_plan: why there is none.
    """

    version: Literal[3]
    path: str
    module: str
    lines: int
    functions: tuple[FunctionReport, ...]
    other_seams: tuple[SeamReport, ...] | None
    tried: bool
    tests: tuple[str, ...]
    definitions: tuple[DefinitionReport, ...] | None
    plan: str | None
    no_plan: str | None

    @property
    def helpers(self) -> tuple[HelperReport, ...]:
        """Those of all functions."""
        return tuple(helper for function in self.functions for helper in function.helpers)

    @property
    def refused(self) -> tuple[tuple[HelperReport, Refused], ...]:
        """Helpers that stay, with the reason."""
        return tuple((h, h.strategy) for h in self.helpers if isinstance(h.strategy, Refused))
