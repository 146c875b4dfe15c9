"""Run a case: the program, the tool, the program that came out; and judge what happened to it.

The tool is driven through its command line's `main`, in this process; every program runs in an interpreter of
its own.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.codemods.hazards.corpus import Case, Expectation, Program

Tool = Callable[[list[str]], int]
TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class Observed:
    """What can be seen of a program from outside; of a traceback, its last line (the rest names places)."""

    exit_status: int
    stdout: str
    error: str


@dataclass(frozen=True, slots=True)
class HelperReport:
    """The tool's answer for one helper."""

    name: str
    status: str
    code: str
    reason: str
    line: int


@dataclass(frozen=True, slots=True)
class Kept:
    """The program that came out, if any, does what the original did."""

    helpers: tuple[HelperReport, ...]


@dataclass(frozen=True, slots=True)
class Wrong:
    """The program that came out behaves differently, or a refusal left traces."""

    what: str
    helpers: tuple[HelperReport, ...]


@dataclass(frozen=True, slots=True)
class Crashed:
    """The tool raised, or printed what it should not."""

    what: str


@dataclass(frozen=True, slots=True)
class Unmet:
    """Nothing is wrong, but not what the case asks for."""

    what: str
    helpers: tuple[HelperReport, ...]


Outcome = Kept | Wrong | Crashed | Unmet


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    stdout: str
    stderr: str


def run_case(case: Case, tool: Tool) -> Outcome:
    """Return what became of `case`: the original and the result are run, and its expectations are judged."""
    original = case.programs["orig"]
    before = observe(original)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _unpack(original, root)
        try:
            answer = _call(tool, [*case.arguments, "--write", "--output-format", "json"], root)
            if answer.status == 2 and case.expectations[0].verdict == "declined":
                return _judge_declined(original, _read_back(root), answer)
            if answer.status not in (0, 1):
                return Crashed(f"exit status {answer.status}: {answer.stderr.strip()}")
            report = json.loads(answer.stdout)
            helpers = tuple(_helper_report(entry) for entry in report["helpers"])
        except Exception as error:
            return Crashed(f"{type(error).__name__}: {error}")
        result = _read_back(root)
        after = _observe_in(root)
    if problem := _contract_problem(original, result, answer, helpers):
        return Wrong(problem, helpers)
    documented = any(expected.verdict == "documented" for expected in case.expectations)
    if after != before and not (documented and after.exit_status == before.exit_status):
        return Wrong(_difference(before, after, result), helpers)
    if problem := _unimportable(original, result):
        return Wrong(problem, helpers)
    for expected in case.expectations:
        if problem := _unmet(expected, helpers):
            return Unmet(problem, helpers)
    return Kept(helpers)


def _judge_declined(original: Program, result: Program, answer: _Answer) -> Outcome:
    if result != original:
        return Wrong("the input was declined and yet the files changed", ())
    if answer.stderr.strip().count("\n") or not answer.stderr.strip():
        return Wrong(f"not one clear line: {answer.stderr!r}", ())
    return Kept(())


def observe(program: Program) -> Observed:
    """Run a program's `main.py` in a fresh interpreter and folder, once for all who ask."""
    return _observed(tuple(program.items()))


@functools.cache
def _observed(files: tuple[tuple[str, str], ...]) -> Observed:
    program = dict(files)
    with tempfile.TemporaryDirectory() as folder:
        _unpack(program, Path(folder))
        return _observe_in(Path(folder))


def _unpack(program: Program, root: Path) -> None:
    for name, text in program.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def _read_back(root: Path) -> Program:
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}


def _observe_in(root: Path, arguments: tuple[str, ...] = ("main.py",)) -> Observed:
    # -S: no site-packages, which the programs don't need and whose start-up hooks take most of the time.
    command = [sys.executable, "-S", "-B", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    last = done.stderr.strip().splitlines()[-1:]
    return Observed(done.returncode, done.stdout, "".join(last))


def _call(tool: Tool, arguments: list[str], root: Path) -> _Answer:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(root), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = tool(arguments)
    return _Answer(status, out.getvalue(), err.getvalue())


def _helper_report(entry: dict[str, Any]) -> HelperReport:
    return HelperReport(
        entry["name"], entry["status"], entry["code"] or "", entry["reason"] or "", int(entry["line"])
    )


def _contract_problem(
    original: Program, result: Program, answer: _Answer, helpers: tuple[HelperReport, ...]
) -> str | None:
    refused = [helper for helper in helpers if helper.status == "refused"]
    if answer.status != (1 if refused else 0):
        return f"exit status {answer.status} with {len(refused)} refusals"
    if result != original and not any(h.status in ("lifted", "moved") for h in helpers):
        return "nothing was lifted and yet the files changed"
    if answer.stderr.count("Traceback"):
        return "a traceback on stderr"
    for helper in refused:
        if not helper.code or not helper.reason or helper.line < 1:
            return f"the refusal of {helper.name} lacks a code, a reason or a line"
    return None


def _difference(before: Observed, after: Observed, result: Program) -> str:
    text = "\n".join(f"#% {name}\n{source}" for name, source in result.items())
    return f"before: {before}\nafter:  {after}\n{text}"


def _unimportable(original: Program, result: Program) -> str | None:
    """Every file that the tool made must be importable first, in a fresh interpreter."""
    for name in result.keys() - original.keys():
        if not name.endswith(".py"):
            return f"the tool left {name} behind"
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        with tempfile.TemporaryDirectory() as folder:
            _unpack(result, Path(folder))
            seen = _observe_in(Path(folder), ("-c", f"import {module}"))
        if seen.exit_status:
            return f"import {module} fails: {seen.error}"
    return None


def _unmet(expected: Expectation, helpers: tuple[HelperReport, ...]) -> str | None:
    named = [helper for helper in helpers if expected.helper in ("*", helper.name)]
    if not named and expected.helper != "*":
        return f"the report has no helper {expected.helper}"
    for helper in named:
        done = ("lifted", "moved")
        wanted = {"sound": done, "documented": done, "refused": ("refused",), "either": (helper.status,)}
        if helper.status not in wanted.get(expected.verdict, ()):
            found = f"{helper.name} is {helper.status} ({helper.code}: {helper.reason})"
            return f"{found}, not {expected.verdict}"
        if helper.status == "refused" and expected.codes and helper.code not in expected.codes:
            return f"{helper.name} is refused with {helper.code}, not {' or '.join(sorted(expected.codes))}"
    return None
