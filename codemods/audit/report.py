"""The preflight report as data: everything that the text prints, and the shape of the JSON.

Paths are relative to the project and have forward slashes; lines count from 1. Where no folder of tests was
searched, the seams are None, never empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from codemods.program.patches import Seam
from codemods.rewrites.refusals import Refusal

Bound = Literal["parameter", "local", "import", "helper", "class", "nonlocal"]


@dataclass(frozen=True, slots=True)
class Capture:
    """A variable of an enclosing function that a helper reads.

    Attributes:
        name: of the variable.
        owner: qualified name of the function it belongs to.
        bound_as: how it gets its value; by its first binding, where there are several.
        bound: lines that bind it, the first one first.
    """

    name: str
    owner: str
    bound_as: Bound
    bound: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A use of a helper: its line, and the innermost function around it."""

    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome that a lift or a move would have: what is ``passed`` as keyword-only parameters, or the
    refusal.
    """

    status: Literal["lifted", "moved", "kept", "refused"]
    passed: tuple[str, ...] = ()
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class DefinitionReport:
    """A function, class or constant of the module.

    Attributes:
        needs: names that the module itself binds and that it reads.
        answer: moved, if a plan could move it to another file; kept, if the module is run by it.
    """

    name: str
    line: int
    end_line: int
    needs: tuple[str, ...]
    answer: Answer


@dataclass(frozen=True, slots=True)
class LoopReport:
    """The longest loop of a function at the top level, and whether a plan could make a class of it.

    Attributes:
        no_plan: why no plan does, if nothing refuses it.
    """

    function: str
    line: int
    end_line: int
    answer: Answer
    no_plan: str | None = None


@dataclass(frozen=True, slots=True)
class HelperReport:
    """One helper.

    Attributes:
        here: the answer to a lift within the file.
        elsewhere: the answer to a lift into another file, where the file's own names may be passed as well.
    """

    name: str
    qualname: str
    line: int
    end_line: int
    captures: tuple[Capture, ...]
    calls: tuple[Place, ...]
    values: tuple[Place, ...]
    here: Answer
    elsewhere: Answer


@dataclass(frozen=True, slots=True)
class SeamReport:
    """A name that tests replace in the module.

    Attributes:
        name: below the module; ``*`` where only a run would tell.
        read_by: qualified names of the functions of the file that read it.
    """

    name: str
    read_by: tuple[str, ...]
    places: tuple[Seam, ...]


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """One function with helpers.

    Attributes:
        own_lines: its lines without those of its helpers.
        seams: those that the function or its helpers read; None if no tests were searched.
    """

    name: str
    qualname: str
    line: int
    end_line: int
    own_lines: int
    helpers: tuple[HelperReport, ...]
    seams: tuple[SeamReport, ...] | None


@dataclass(frozen=True, slots=True)
class Report:
    """The preflight report of one file.

    Attributes:
        accepted: the codes of assumptions that refuse nothing here.
        other_seams: seams that none of the reported functions reads; None if no tests were searched.
        definitions: what the module defines; None where one function was asked for.
        loop: the longest loop of its functions, if it is long.
        plan: one that moves what can be moved of them and takes that loop out, and was carried out in memory;
            None if there is none.
        no_plan: why there is none.
    """

    version: Literal[7]
    path: str
    module: str
    lines: int
    functions: tuple[FunctionReport, ...]
    other_seams: tuple[SeamReport, ...] | None
    definitions: tuple[DefinitionReport, ...] | None = None
    loop: LoopReport | None = None
    plan: str | None = None
    no_plan: str | None = None
    accepted: tuple[str, ...] = ()
