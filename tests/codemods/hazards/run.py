"""Run a case: the program, the tool, the program that came out; and judge what happened to it.

The tool is driven through its command line's `main`, in this process; every program runs in a process of its
own, forked from a fresh interpreter.
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
from tests.trees import read, write

Tool = Callable[[list[str]], int]
Helper = dict[str, Any]
"""The tool's answer for one helper."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What can be seen of a program from outside; of a traceback, its last line (the rest names places)."""

    exit_status: int
    stdout: str
    error: str


def problem(case: Case, tool: Tool) -> str | None:
    """Tell what is wrong with what the tool makes of a case; None where it is what the case asks for."""
    original = case.programs["orig"]
    before = observe(original)
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder), original)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(root), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = tool([*case.arguments, "--write", "--output-format", "json"])
        result = {name: data.decode() for name, data in read(root).items()}
        said = err.getvalue().strip()
        if status == 2 and case.expectations[0].verdict == "declined":
            if result != original:
                return "the input was declined and yet the files changed"
            return None if len(said.splitlines()) == 1 else f"not one clear line: {said!r}"
        if status not in (0, 1) or "Traceback" in said:
            return f"exit status {status}: {said}"
        helpers: list[Helper] = json.loads(out.getvalue())["helpers"]
        after = _observe_in(root)
    documented = any(expected.verdict == "documented" for expected in case.expectations)
    problems = [_of_report(original, result, status, helpers)]
    if after != before and not (documented and after.exit_status == before.exit_status):
        text = "\n".join(f"#% {name}\n{source}" for name, source in result.items())
        problems.append(f"before: {before}\nafter:  {after}\n{text}")
    problems.append(_unimportable(original, result))
    problems += [_unmet(expected, helpers) for expected in case.expectations]
    return next(filter(None, problems), None)


def observe(program: Program) -> Observed:
    """Run a program's `main.py` in a fresh interpreter and folder, once for all who ask."""
    return _observed(tuple(program.items()))


@functools.cache
def _observed(files: tuple[tuple[str, str], ...]) -> Observed:
    with tempfile.TemporaryDirectory() as folder:
        return _observe_in(write(Path(folder), dict(files)))


@functools.cache
def _interpreter() -> subprocess.Popen[str]:
    # -S: no site-packages, which the programs don't need and whose start-up hooks take most of the time.
    command = [sys.executable, "-S", "-B", str(Path(__file__).with_name("interpreter.py"))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _observe_in(root: Path, *, kind: str = "", program: str = "main.py") -> Observed:
    interpreter = _interpreter()
    assert interpreter.stdin is not None
    assert interpreter.stdout is not None
    with tempfile.TemporaryDirectory() as streams:
        out, err = (Path(streams) / name for name in ("out", "err"))
        print(root, out, err, kind, program, sep="\t", file=interpreter.stdin, flush=True)
        status = int(interpreter.stdout.readline())
        last = err.read_text().strip().splitlines()[-1:]
        return Observed(status, out.read_text(), "".join(last))


def _of_report(original: Program, result: Program, status: int, helpers: list[Helper]) -> str | None:
    refused = [helper for helper in helpers if helper["status"] == "refused"]
    if status != (1 if refused else 0):
        return f"exit status {status} with {len(refused)} refusals"
    if result != original and not any(helper["status"] in ("lifted", "moved") for helper in helpers):
        return "nothing was lifted and yet the files changed"
    lacking = (h["name"] for h in refused if not (h["code"] and h["reason"] and h["line"] >= 1))
    return next((f"the refusal of {name} lacks a code, a reason or a line" for name in lacking), None)


def _unimportable(original: Program, result: Program) -> str | None:
    """Every file that the tool made must be importable first, in a fresh interpreter."""
    for name in result.keys() - original.keys():
        if not name.endswith(".py"):
            return f"the tool left {name} behind"
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        with tempfile.TemporaryDirectory() as folder:
            seen = _observe_in(write(Path(folder), result), kind="-c", program=f"import {module}")
        if seen.exit_status:
            return f"import {module} fails: {seen.error}"
    return None


def _unmet(expected: Expectation, helpers: list[Helper]) -> str | None:
    named = [helper for helper in helpers if expected.helper in ("*", helper["name"])]
    if not named and expected.helper != "*":
        return f"the report has no helper {expected.helper}"
    done = ("lifted", "moved")
    for helper in named:
        status, code = helper["status"], helper["code"]
        wanted = {"sound": done, "documented": done, "refused": ("refused",), "either": (status,)}
        if status not in wanted.get(expected.verdict, ()):
            return f"{helper['name']} is {status} ({code}: {helper['reason']}), not {expected.verdict}"
        if status == "refused" and expected.codes and code not in expected.codes:
            return f"{helper['name']} is refused with {code}, not {' or '.join(sorted(expected.codes))}"
    return None
