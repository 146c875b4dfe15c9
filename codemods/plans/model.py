"""A plan file: what moves where. Unknown keys are refused."""

from __future__ import annotations

import difflib
import keyword
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, TypeVar

from codemods.program.source import Unusable

T = TypeVar("T")


class PlanError(Unusable):
    """A plan that can't be carried out; the message is one line."""


class _Wrong(ValueError):
    """Something wrong with a value at a place of a plan, and the sentence in which both stand."""

    def __init__(self, what: str, place: tuple[str | int, ...] = (), said: str = "{}: {}") -> None:
        super().__init__(what)
        self.what, self.place, self.said = what, place, said


def _key(read: Callable[[object], Any], default: Any = MISSING, key: str | None = None) -> Any:
    """A key of a table, by what reads its value; one without a default must be given."""
    kept = {"default_factory": default} if default is dict else {"default": default}
    return field(**kept, metadata={"read": read, "key": key})


def _at(key: str | int, read: Callable[[object], T], value: object) -> T:
    try:
        return read(value)
    except _Wrong as error:
        raise _Wrong(error.what, (key, *error.place), error.said) from None


def _a(
    kind: type[T], called: str, holds: Callable[[T], object] = lambda value: True, what: str = ""
) -> Callable[[object], T]:
    """Make what reads a value of a kind, of which something holds."""

    def read(value: object) -> T:
        if type(value) is not kind:
            raise _Wrong(f"must be {called}")
        if not holds(value):
            raise _Wrong(what.format(value))
        return value

    return read


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return not parts.is_absolute() and ".." not in parts.parts and "\0" not in path


def _is_plain(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


_dict, _list, _flag = _a(dict, "a table"), _a(list, "a list"), _a(bool, "true or false")
_some_list = _a(list, "a list", bool, "must name something")
_count = _a(int, "a number", lambda number: number > 0, "must be 1 or more")
_version = _a(int, "a number", lambda number: number == 1, "must be 1")
_text, _reason = _a(str, "a text"), _a(str, "a text", bool, "must say something")
_folder = _a(str, "a text", _is_inside, "must be a relative path, without '..'")
_file = _a(
    str,
    "a text",
    lambda path: _is_inside(path) and path.endswith(".py"),
    "must be a relative path of a .py file, without '..'",
)
_name = _a(str, "a text", _is_plain, "{!r} is not a name for a class or a method")
_identifier = _a(str, "a text", str.isidentifier, "{!r} is not a Python name")


def _each(
    read: Callable[[object], T], items: Callable[[object], list[object]] = _list
) -> Callable[[object], tuple[T, ...]]:
    """Make what reads a list, each of its items in the same way."""
    return lambda value: tuple(_at(number, read, item) for number, item in enumerate(items(value)))


_texts = _each(_text)


def _table(kind: type[T]) -> Callable[[object], T]:
    """Make what reads a table, all of whose keys are known."""
    known = {each.metadata["key"] or each.name: each for each in fields(kind)}  # type: ignore[arg-type]

    def read(value: object) -> T:
        given = {}
        for key, item in _dict(value).items():
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
                raise _Wrong(hint, (key,), "unknown key {!r}; {}")
            given[known[key].name] = _at(key, known[key].metadata["read"], item)
        for key, each in known.items():
            if each.name not in given and each.default is MISSING is each.default_factory:
                raise _Wrong("missing", (key,), "key {!r} is {}")
        return kind(**given)

    return read


@dataclass(frozen=True)
class Move:
    """Helpers, which are lifted, and module-level names, which are moved, that go to one file.

    Attributes:
        to: the new file, relative to the plan's ``root``.
        names: what goes there; ``*`` is every helper of the plan's function.
        docstring: of the file.
        rename: what names are called afterwards; other files import them under the old ones (``as``).
        wrapper: helpers of which a one-line closure stays that forwards to the lifted function; ``auto`` is
            each that is used as a value.
        cell: helpers whose rebound captures go to an object that they share with the outer function.
        reexport: whether the names stay importable from the source.
    """

    to: str = _key(_file)
    names: tuple[str, ...] = _key(_each(_text, _some_list))
    docstring: str | None = _key(_text, None)
    rename: Mapping[str, str] = _key(
        lambda value: {old: _at(old, _identifier, new) for old, new in _dict(value).items()},
        dict,
    )
    wrapper: Literal["auto"] | tuple[str, ...] = _key(
        lambda value: "auto" if value == "auto" else _texts(value), ()
    )
    cell: tuple[str, ...] = _key(_texts, ())
    reexport: bool = _key(_flag, default=False)


@dataclass(frozen=True)
class Loop:
    """The main loop of the plan's function, which becomes a method of a class.

    Attributes:
        class: the name of the class.
        to: the file of the class, relative to the plan's ``root``.
        method: the method that the loop becomes.
        docstring: of the class.
        at: which loop, counted from 1 among the function's statements that hold one; not needed if there is
            one.
    """

    class_: str = _key(_name, key="class")
    to: str = _key(_file)
    method: str = _key(_name, "run")
    docstring: str | None = _key(_text, None)
    at: int | None = _key(_count, None)


@dataclass(frozen=True)
class Seams:
    """Names that tests replace in the source module, and that must go on working.

    Attributes:
        keep: names beside those that are found in the tests.
        tests: folders of tests to search.
    """

    keep: tuple[str, ...] = _key(_texts, ())
    tests: tuple[str, ...] = _key(_texts, ())


@dataclass(frozen=True)
class Accept:
    """An assumption that the plan's author accepts.

    Attributes:
        code: the assumption, one that ``codemods extract --accept`` takes.
        reason: why it holds here.
    """

    code: str = _key(_text)
    reason: str = _key(_reason)


@dataclass(frozen=True)
class Plan:
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

    version: Literal[1] = _key(_version)
    source: str = _key(_folder)
    function: str | None = _key(_text, None)
    root: str = _key(_folder, ".")
    rest: str | None = _key(_file, None)
    after: tuple[str, ...] = _key(_texts, ())
    move: tuple[Move, ...] = _key(_each(_table(Move)), ())
    loop: Loop | None = _key(_table(Loop), None)  # noqa: RUF009 (makes a field)
    seams: Seams = _key(_table(Seams), Seams())  # noqa: RUF009 (makes a field)
    accept: tuple[Accept, ...] = _key(_each(_table(Accept)), ())

    def files(self, base: Path) -> frozenset[Path]:
        """List the files that it makes in a project, but for the source that it takes apart in place."""
        names = [*(move.to for move in self.move), self.rest, self.loop and self.loop.to]
        return frozenset(base / self.root / name for name in names if name)

    def __post_init__(self) -> None:
        if not self.move and self.loop is None:
            raise ValueError("has neither [[move]] nor [loop]: nothing to do")
        if self.loop is not None and self.function is None:
            raise ValueError("[loop] needs the function whose loop it is")


class Loaded(NamedTuple):
    """A plan, its file, and the file's text, for the lines of messages."""

    path: Path
    plan: Plan
    text: str

    def error(self, what: object, key: str, index: int = 0) -> PlanError:
        """Report an error at the place where the plan has a key or a quoted name, from the ``index``-th table
        of moves on.
        """
        return PlanError(f"{self.path}:{_line_of(self.text, key, index)}: {what}")


def plans_before(path: Path) -> list[Loaded]:
    """Read a plan after all those that it builds on, each once.

    Raises:
        PlanError: if a plan can't be used or comes after itself.
    """
    found: dict[Path, Loaded] = {}

    def visit(path: Path, around: tuple[Path, ...]) -> None:
        loaded = Loaded(path, *load_plan(path, str(path)))
        for name in loaded.plan.after:
            before = path.parent / name
            try:
                itself = before.resolve() in (*around, path.resolve())
            except (OSError, RuntimeError, ValueError) as error:
                raise loaded.error(f"after: {name!r} names no file: {error}", "after") from None
            if itself:
                raise loaded.error(f"{name} comes after this plan itself", name)
            visit(before, (*around, path.resolve()))
        found.setdefault(path.resolve(), loaded)

    visit(path, ())
    return list(found.values())


def load_plan(path: Path, shown: str) -> tuple[Plan, str]:
    """Read a plan; also its text, for the lines of later messages.

    Raises:
        PlanError: if it is missing, not TOML, or not a plan.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanError(f"{shown}: no such plan") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{shown}: can't be read: {error}") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise PlanError(f"{shown}:{line.group(1) if line else 1}: not valid TOML: {error}") from None
    try:
        return _table(Plan)(data), text
    except ValueError as error:
        raise PlanError(_message(shown, text, error)) from None


def _message(shown: str, text: str, error: ValueError) -> str:
    """Say what is wrong with a plan, and in which line."""
    if not isinstance(error, _Wrong):
        return f"{shown}:1: {error}"
    place = error.place
    key = next((part for part in reversed(place) if isinstance(part, str)), "")
    if error.what == "missing" and len(place) > 1:
        key = str(place[0])
    index = next((part for part in place if isinstance(part, int)), 0)
    name = ".".join(f"[{part}]" if isinstance(part, int) else part for part in place).replace(".[", "[")
    table = "[loop" if place[0] == "loop" else "[[move]]"
    return f"{shown}:{_line_of(text, key, index, table)}: {error.said.format(name, error.what)}"


def _line_of(text: str, key: str, index: int, table: str = "[[move]]") -> int:
    """Find the line of a plan's text where a key, table or quoted name stands, from the ``index``-th header
    that begins like ``table`` on.
    """
    lines = text.splitlines()
    start, seen = 0, -1
    for number, line in enumerate(lines):
        if line.strip().startswith(table):
            seen += 1
            if seen == index:
                start = number
                break
    pattern = re.compile(
        rf"^\s*\[*\s*{re.escape(key)}\s*[\]=.]|[\"']{re.escape(key)}[\"']|\b{re.escape(key)}\s*="
    )
    for number in (*range(start, len(lines)), *range(start)):
        if pattern.search(lines[number]):
            return int(number) + 1
    return 1
