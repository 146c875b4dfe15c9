"""Compare a program with what the tool makes of it: everything printed, returned and raised."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from tests.codemods.fuzz.modes import Helpers, Mode, ask

Tool = Callable[[list[str]], int]
SECONDS = 2.0
"""How long a program may run; its fuel makes nearly all of them end much sooner."""


class Declined(Exception):
    """The tool takes the whole input for unusable."""


def difference(text: str, tool: Tool, mode: Mode = "plain") -> str | None:
    """Tell where the program `text` does something else once the tool has lifted what it can.

    None where it does the same, and where that can't be told: it does not compile or takes too long, or the
    tool declines all of it.
    """
    try:
        before = run({"program.py": text})
    except (SyntaxError, TimeoutError):
        return None
    try:
        files = lift(text, tool, mode)
    except Declined:
        return None
    if files == {"program.py": text}:
        return None
    try:
        after = _run_twice(files)
    except (SyntaxError, TimeoutError) as error:
        return f"the result fails: {type(error).__name__}: {error}"
    return None if after == before else f"{_first_difference(before, after)}\n{files}"


def _run_twice(files: dict[str, str]) -> str:
    """Run a program, and again if it takes too long: collecting garbage may have taken most of the time."""
    try:
        return run(files)
    except TimeoutError:
        return run(files)


def lift(text: str, tool: Tool, mode: Mode = "plain") -> dict[str, str]:
    """Run the tool on a copy of the program; the files that it leaves."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        program = Path("program.py")
        program.write_text(text, encoding="utf-8")
        helpers: Helpers = _call(tool, ["program.py"]) if mode in ("residual", "box") else ()
        asked = ask(mode, text, helpers)
        if asked is None:
            return {"program.py": text}
        if asked.plan is not None:
            Path("plan.toml").write_text(asked.plan, encoding="utf-8")
        _call(tool, [*asked.arguments, "--write"])
        return {path.name: path.read_text(encoding="utf-8") for path in Path().glob("*.py")}


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
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), _time_limit():
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
            (Path(folder) / name).write_text(text, encoding="utf-8")
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

    # Time of its own: what else the machine does is not in it.
    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)
        if expired:
            raise TimeoutError


def _first_difference(before: str, after: str) -> str:
    """Return the first line that differs, with its number."""
    old, new = before.splitlines(), after.splitlines()
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return f"line {at + 1} of the output: {old[at : at + 1]} became {new[at : at + 1]}"
