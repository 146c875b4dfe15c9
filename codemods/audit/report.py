"""The preflight report as data: everything that the renderings print, and the shape of the JSON.

Paths are relative to the root and have forward slashes; lines count from 1. Where a repository or tests
folder was not searched, what it would have told is None, never empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from codemods.audit.effects import Mutation
from codemods.audit.references import Reference, Taken
from codemods.device.regions import Region
from codemods.device.syncs import SyncCall

Bound = Literal["parameter", "local", "import", "helper", "class", "exception", "pattern", "nonlocal"]
ParameterKind = Literal["positional-only", "positional", "*args", "keyword-only", "**kwargs"]
HelperKind = Literal["function", "generator", "coroutine", "async generator"]
DefinitionKind = Literal["function", "class", "constant"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input of a helper: name, kind as in `inspect`, annotation and default as written."""

    name: str
    kind: ParameterKind
    annotation: str | None
    default: str | None


@dataclass(frozen=True, slots=True)
class Capture:
    """A variable of an enclosing function that a helper reads.

    Attributes:
        name: of the variable.
        owner: qualified name of the function it belongs to.
        bound_as: how it gets its value; by its first binding, where there are several.
        origin: the dotted path, for an import.
        annotation: as the program states it.
        bound: lines that bind it, the first one first.
        rebound: those of them that may replace or remove an earlier value, a single one in a loop included.
        reads: lines in the helper that read it.
        unbound_at: lines of calls or other uses of the helper where the variable may be unbound.
    """

    name: str
    owner: str
    bound_as: Bound
    origin: str | None
    annotation: str | None
    bound: tuple[int, ...]
    rebound: tuple[int, ...]
    reads: tuple[int, ...]
    unbound_at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Global:
    """A module-level name that a helper reads: what it is, the dotted path or line it comes from."""

    name: str
    kind: Literal["import", "typing", "own", "identity", "star", "unknown", "builtin"]
    origin: str
    line: int


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
        context: whether it is passed so much that `captures = "context"` is proposed for it.
    """

    name: str
    qualname: str
    line: int
    end_line: int
    kind: HelperKind
    inputs: tuple[Parameter, ...]
    returns: str | None
    decorators: tuple[str, ...]
    captures: tuple[Capture, ...]
    mutates: tuple[Mutation, ...]
    globals: tuple[Global, ...]
    calls: tuple[Place, ...]
    values: tuple[Place, ...]
    strategy: Lifted | Refused
    moved: Lifted | Refused
    context: bool

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
class LazyImport:
    """A name imported inside a function, and the module that it comes from, or is.

    Attributes:
        cycle: whether the import would close a cycle of imports at the top of the file; None if the
            repository was not searched.
    """

    name: str
    target: str
    line: int
    cycle: bool | None


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """One function with helpers.

    Attributes:
        own_lines: its lines without those of its helpers.
        references: its uses in the repository, outside its own text; None if that was not searched.
        seams: those that the function or its helpers read; None if no tests were searched.
        regions: the order of its waits, loop by loop.
        loop: what its main loop needs; None if it has no one loop that could become a method.
    """

    name: str
    qualname: str
    line: int
    end_line: int
    own_lines: int
    inputs: tuple[Parameter, ...]
    decorators: tuple[str, ...]
    helpers: tuple[HelperReport, ...]
    references: tuple[Reference, ...] | None
    seams: tuple[SeamReport, ...] | None
    lazy_imports: tuple[LazyImport, ...]
    syncs: tuple[SyncCall, ...]
    regions: tuple[Region, ...]
    loop: LoopState | None

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.end_line - self.line + 1


@dataclass(frozen=True, slots=True)
class Report:
    """The preflight report of one file.

    Attributes:
        taken: its names that other files of the repository use; None if that was not searched.
        other_seams: seams that none of the reported functions reads; None if no tests were searched.
        searched: how many files of the repository were searched; None if it was not.
        unread: those that mention the module or function but are not valid Python; None if not searched.
        tests: folders that were searched for seams.
        definitions: what the module defines; None where one function was asked for.
        plan: one that moves what can be moved of them, carried out in memory if the repository was searched;
            None if there is none.
        no_plan: why there is none.
    """

    version: Literal[2]
    path: str
    module: str
    lines: int
    functions: tuple[FunctionReport, ...]
    taken: tuple[Taken, ...] | None
    other_seams: tuple[SeamReport, ...] | None
    searched: int | None
    unread: tuple[str, ...] | None
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
