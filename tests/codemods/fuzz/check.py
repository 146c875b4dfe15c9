"""Compare a program with what the tool makes of it: everything printed, returned and raised."""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import re
import signal
import sys
import tempfile
import tokenize
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

from tests.codemods.fuzz.dress import PLAIN, Dress
from tests.codemods.fuzz.modes import Asked, Helpers, Mode, ask, moves_lines

Tool = Callable[[list[str]], int]
SECONDS = 2.0
"""How long a program may run; its fuel makes nearly all of them end much sooner."""


class Declined(Exception):
    """The tool takes the whole input for unusable."""


@dataclass(frozen=True, slots=True)
class Lifted:
    """The files that the tool left, what it says of each helper, and what it was asked for."""

    files: dict[str, str]
    helpers: Helpers
    asked: Asked | None


@dataclass(frozen=True, slots=True)
class Same:
    """The program does the same before and after."""

    lifted: Lifted


@dataclass(frozen=True, slots=True)
class Different:
    """It does not, or the tool broke a promise about the text."""

    what: str
    lifted: Lifted


@dataclass(frozen=True, slots=True)
class Broken:
    """The tool raised, or its answer can't be read."""

    what: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """The program does not compile or takes too long, or the tool declines all of it."""

    why: str


Verdict = Same | Different | Broken | Unusable


def check(text: str, tool: Tool, mode: Mode = "plain", dress: Dress = PLAIN) -> Verdict:
    """Return whether lifting what can be lifted keeps what the program `text` does."""
    text = dress.put_on(text)
    try:
        before = run({"program.py": text})
    except (SyntaxError, TimeoutError) as error:
        return Unusable(type(error).__name__)
    try:
        lifted = lift(text, tool, mode, dress)
    except Declined as error:
        return Unusable(str(error))
    except Exception:
        return Broken(traceback.format_exc().strip())
    try:
        after = run(lifted.files)
    except (SyntaxError, TimeoutError) as error:
        return Different(f"the result fails: {type(error).__name__}: {error}", lifted)
    if after != before:
        return Different(difference(before, after), lifted)
    if lost := comments(text) - comments("\n".join(lifted.files.values())):
        return Different(f"comments lost: {sorted(lost)}", lifted)
    kept = iter(lifted.files["program.py"].splitlines())
    for line in () if moves_lines(mode) else untouched(text):
        if line not in kept:
            return Different(f"line changed without need: {line!r}", lifted)
    return Same(lifted)


def lift(text: str, tool: Tool, mode: Mode = "plain", dress: Dress = PLAIN) -> Lifted:
    """Run the tool on a copy of the program, whose bytes look as `dress` says."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        program = Path("program.py")
        program.write_bytes(dress.encode(text))
        helpers: Helpers = () if mode in ("plain", "file", "context") else _call(tool, ["program.py"])
        asked = ask(mode, text, helpers)
        # A plan that names what is refused does nothing: leave out what it says can't be done.
        for _ in range(3):
            if asked is None:
                return Lifted({"program.py": text}, helpers, None)
            if asked.plan is not None:
                Path("plan.toml").write_text(asked.plan, encoding="utf-8")
            said = _call(tool, [*asked.arguments, "--write"])
            refused = {name for name, status, _ in said if status == "refused"}
            if asked.plan is None or not refused.intersection(name for name, _, _ in helpers):
                break
            helpers = tuple(entry for entry in helpers if entry[0] not in refused)
            asked = ask(mode, text, helpers)
        files = {path.name: path.read_text(encoding="utf-8-sig") for path in Path().glob("[!p]*.py")}
        files["program.py"] = dress.decode(program.read_bytes())
        return Lifted(files, said, asked)


def _call(tool: Tool, arguments: list[str]) -> Helpers:
    """Run the tool here and return what it says of each helper."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = tool([*arguments, "--output-format", "json"])
    if status not in (0, 1) and "not valid Python" in errors.getvalue():
        raise RuntimeError(errors.getvalue().strip())
    if status not in (0, 1):
        raise Declined(f"exit status {status}: {errors.getvalue().strip()}")
    helpers = json.loads(out.getvalue())["helpers"]
    return tuple((entry["qualname"], entry["status"], entry["code"] or "") for entry in helpers)


def run(files: dict[str, str]) -> str:
    """Import a program from a folder of its own and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), _limits():
        warnings.simplefilter("ignore")
        try:
            _import(files)
        except (SyntaxError, OutOfTime, KeyboardInterrupt):
            raise
        except BaseException as error:
            print("ended with", type(error).__name__)
    return out.getvalue()


def _import(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            encoding = "latin-1" if "coding: latin-1" in text[:40] else "utf-8"
            (Path(folder) / name).write_text(text, encoding=encoding)
        sys.path.insert(0, folder)
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            importlib.import_module("program")
        finally:
            sys.path.remove(folder)
            sys.dont_write_bytecode = written
            for name in files:
                sys.modules.pop(name.removesuffix(".py"), None)
            sys.path_importer_cache.pop(folder, None)


class OutOfTime(BaseException):
    """Raised in a program that runs for too long, again and again until it ends."""


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    expired = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal expired
        expired = True
        raise OutOfTime

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if expired:
            raise TimeoutError


@contextlib.contextmanager
def _limits() -> Iterator[None]:
    """Limit a program's time, and where the interpreter itself may not (3.13.0 lets a call that takes its
    defaults recurse for ever), its depth.
    """
    if sys.version_info < (3, 13):
        with _time_limit():
            yield
        return
    started, tool = 0, 4

    def start(code: CodeType, offset: int) -> None:
        nonlocal started
        started += 1
        frame: FrameType | None = sys._getframe() if started % 250 == 0 else None
        depth = 0
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        if depth > sys.getrecursionlimit() - 300:
            raise RecursionError

    sys.monitoring.use_tool_id(tool, "depth")
    sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, start)
    sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
    try:
        with _time_limit():
            yield
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.free_tool_id(tool)


def comments(text: str) -> frozenset[str]:
    """Return the comments of a text."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return frozenset(token.string for token in tokens if token.type == tokenize.COMMENT)


def untouched(text: str) -> list[str]:
    """Return the lines that lifting has no reason to touch: none of a helper, none that names one, no import
    of theirs.
    """
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = [
        node for outer in functions for node in ast.walk(outer) if node in functions and node is not outer
    ]
    names = {node.name for node in inner}
    touched = {
        line for node in inner for line in range(node.lineno - len(node.decorator_list), _end(node) + 1)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            header = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]
            if any(isinstance(part, ast.Name) and part.id in names for h in header for part in ast.walk(h)):
                body = getattr(node, "body", None)
                last = getattr(body[0], "lineno", node.lineno + 1) if body else _end(node)
                touched.update(range(node.lineno, last + 1))
                touched.update(
                    range(node.lineno, _end(node) + 1) if isinstance(node, ast.Match | ast.Try) else ()
                )
    # An import that only helpers needed goes with them.
    needed = {part.id for node in inner for part in ast.walk(node) if isinstance(part, ast.Name)}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            touched.update(range(node.lineno, _end(node) + 1) if bound & needed else ())
    numbered = enumerate(text.splitlines(), 1)
    return [line for i, line in numbered if i not in touched and re.match(r"\s*[^\s#]", line)]


def _end(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno


def difference(before: str, after: str) -> str:
    """Return the first line that differs, with its number."""
    old, new = before.splitlines(), after.splitlines()
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return f"line {at + 1} of the output: {old[at : at + 1]} became {new[at : at + 1]}"
