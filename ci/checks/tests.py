"""The repository's tests."""

from __future__ import annotations

import subprocess
import sys

from ci.checks.check import Context
from ci.config import Tests
from ci.launch import Launched, launch
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict

_NO_TESTS = 5  # pytest's exit status when it collected nothing


def tests(context: Context, wanted: Tests) -> Verdict:
    """Run the test command; its last line is the detail."""
    arguments = pytest_arguments(wanted.command)
    try:
        if arguments is None:
            done = _run(context, wanted)
        else:
            done = launch(
                "pytest", arguments, root=context.root, config=context.config, timeout=wanted.timeout
            )
    except OSError as error:
        return CouldNotRun(f"{wanted.command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return CouldNotRun(f"{' '.join(wanted.command)} takes more than {wanted.timeout:g} s")
    kept = context.keep("tests.txt", done.output)
    lines = [line.strip() for line in done.output.splitlines() if line.strip()]
    last = lines[-1].strip("= ") if lines else "no output"
    if done.status < 0:
        return CouldNotRun(f"killed by signal {-done.status}: {last}", kept)
    if done.status == _NO_TESTS and "pytest" in " ".join(wanted.command):
        return CouldNotRun(f"no test ran: {last}", kept)
    if done.status:
        return Failed(last, evidence=kept)
    if arguments is not None and (why := _unfinished(done)):
        return CouldNotRun(f"{why}: {last}", kept)
    return Passed(last)


def _run(context: Context, wanted: Tests) -> Launched:
    program, *arguments = wanted.command
    done = subprocess.run(
        [sys.executable if program == "python" else program, *arguments],
        cwd=context.root,
        env=context.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        timeout=wanted.timeout,
    )
    return Launched(done.returncode, done.stdout)


def pytest_arguments(command: tuple[str, ...]) -> list[str] | None:
    """The arguments of pytest, where the command starts it in this Python."""
    for start in (("python", "-m", "pytest"), ("pytest",)):
        if command[: len(start)] == start:
            return list(command[len(start) :])
    return None


def _unfinished(done: Launched) -> str:
    """Why the exit status of pytest says nothing, though it is 0."""
    if done.told is None:
        return "the process ended before pytest did"
    if done.told["stopped"]:
        return f"pytest was stopped ({done.told['stopped']})"
    return "" if done.told["passed"] else "no test passed"
