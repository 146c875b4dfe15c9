"""A plan file: what moves where. Unknown keys are refused."""

from __future__ import annotations

import keyword
import os
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from codemods.program.source import Unusable
from esper_harness.keys import first_problem


class PlanError(Unusable):
    """A plan that can't be carried out; the message is one line."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _must(holds: Callable[[str], bool], what: str) -> AfterValidator:
    """Make a check of a text; ``what`` is the error."""

    def checked(value: str) -> str:
        if not holds(value):
            raise ValueError(what.format(value))
        return value

    return AfterValidator(checked)


def _is_inside(value: str) -> bool:
    path = PurePosixPath(value)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in value


def _is_name(value: str) -> bool:
    return value.isidentifier() and not keyword.iskeyword(value)


# Of TOML's lists tuples are made.
_Texts = Annotated[tuple[str, ...], Field(strict=False)]
_SomeTexts = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
_OF_PYTHON = "must be a relative path of a .py file, without '..'"
_File = Annotated[str, _must(lambda value: _is_inside(value) and value.endswith(".py"), _OF_PYTHON)]
_Folder = Annotated[str, _must(_is_inside, "must be a relative path, without '..'")]
_OF_CLASS = "{!r} is not a name for a class or a method"
_Name = Annotated[str, _must(lambda value: _is_name(value) and value[:2] != "__", _OF_CLASS)]
_Identifier = Annotated[str, _must(_is_name, "{!r} is not a Python name")]


class Move(_Strict):
    """Helpers, which are lifted, or module-level names, which are moved, that go to one new file.

    Attributes:
        to: the new file, relative to the plan's ``root``.
        names: what goes there; ``*`` is every helper of the plan's function.
        docstring: of the file.
        rename: what names are called there; the files that use them import them under the old ones (``as``).
        wrapper: helpers of which a one-line closure stays that forwards to the lifted function; ``auto`` is
            each that needs one: used as a value, decorated, called with ``**keywords``.
        cell: helpers whose rebound captures go to an object that they share with the outer function.
        reexport: whether the names stay importable from the source.
    """

    to: _File
    names: _SomeTexts
    docstring: str | None = None
    rename: dict[str, _Identifier] = {}
    wrapper: Literal["auto"] | _Texts = ()
    cell: _Texts = ()
    reexport: bool = False


class Loop(_Strict):
    """The main loop of the plan's function, which becomes a method of a class.

    Attributes:
        class: the name of the class.
        to: the file of the class, relative to the plan's ``root``.
        method: the method that the loop becomes.
        docstring: of the class.
        at: which loop, counted from 1 among the function's statements that hold one; not needed if there is
            one.
    """

    class_: Annotated[_Name, Field(alias="class")]
    to: _File
    method: _Name = "run"
    docstring: str | None = None
    at: Annotated[int, Field(ge=1)] | None = None


class Seams(_Strict):
    """Names that tests replace in the source module, and that must go on working.

    Attributes:
        keep: names beside those that are found in the tests.
        tests: folders of tests to search.
    """

    keep: _Texts = ()
    tests: _Texts = ()


class Accept(_Strict):
    """An assumption that the plan's author accepts.

    Attributes:
        code: the assumption, one that ``codemods extract --accept`` takes.
        reason: why it holds here.
    """

    code: str
    reason: Annotated[str, Field(min_length=1)]


class Plan(_Strict):
    """The refactoring of one source module.

    Attributes:
        version: the version of the format, 1.
        source: the module, relative to the repository.
        function: the function whose helpers are lifted and whose loop is taken out.
        root: the folder to which all targets are relative, itself relative to the repository.
        rest: where what is left of the source goes; without it the source itself is rewritten, and
            ``--check`` has nothing to compare with.
        after: plans, beside this one, whose outcome this one begins with.
        move: what goes to which file.
        loop: the loop that becomes a class.
        seams: names that tests replace.
        accept: assumptions that refuse nothing.
    """

    version: Literal[1]
    source: _Folder
    function: str | None = None
    root: _Folder = "."
    rest: _File | None = None
    after: Annotated[tuple[_Folder, ...], Field(strict=False)] = ()
    move: Annotated[tuple[Move, ...], Field(strict=False)] = ()
    loop: Loop | None = None
    seams: Seams = Seams()
    accept: Annotated[tuple[Accept, ...], Field(strict=False)] = ()

    def files(self, base: Path) -> frozenset[Path]:
        """List the files that it makes in a project, but for the source that it takes apart in place."""
        names = [*(move.to for move in self.move), self.rest, self.loop and self.loop.to]
        return frozenset(base / self.root / name for name in names if name)

    @model_validator(mode="after")
    def _fits(self) -> Plan:
        names = Counter(name for move in self.move for name in move.names)
        if twice := [name for name, count in names.items() if count > 1]:
            raise ValueError(f"{twice[0]} is moved twice")
        if not self.move and self.loop is None:
            raise ValueError("has neither [[move]] nor [loop]: nothing to do")
        if self.loop is not None and self.function is None:
            raise ValueError("[loop] needs a function; indent a script's own loop into a def main() first")
        return self


class Loaded(NamedTuple):
    """A plan and its file."""

    path: Path
    plan: Plan


def plans_before(path: Path) -> list[Loaded]:
    """Read a plan after all those that it builds on, each once.

    Raises:
        PlanError: if a plan can't be used or comes after itself.
    """
    found: dict[str, Loaded] = {}

    def visit(path: Path, around: tuple[str, ...]) -> None:
        around = (*around, os.path.realpath(path))
        loaded = Loaded(path, load_plan(path, str(path)))
        for name in loaded.plan.after:
            before = path.parent / name
            if os.path.realpath(before) in around:
                raise PlanError(f"{path}: {name} comes after this plan itself")
            visit(before, around)
        found.setdefault(around[-1], loaded)

    visit(path, ())
    return list(found.values())


def load_plan(path: Path, shown: str) -> Plan:
    """Read a plan.

    Raises:
        PlanError: if it is missing, not TOML, or not a plan.
    """
    try:
        return Plan.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise PlanError(f"{shown}: no such plan") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{shown}: not valid TOML: {error}") from None
    except ValidationError as error:
        place, what = first_problem(Plan, error)
        raise PlanError(f"{shown}: {place}: {what}" if place else f"{shown}: {what}") from None
    except (OSError, ValueError) as error:
        raise PlanError(f"{shown}: can't be read: {error}") from None
