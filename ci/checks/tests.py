"""The repository's tests."""

from __future__ import annotations

import subprocess
import sys

from ci.checks.check import Context
from ci.config import Tests
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict

_NO_TESTS = 5  # pytest's exit status when it collected nothing


def tests(context: Context, wanted: Tests) -> Verdict:
    """Run the test command; its last line is the detail."""
    program, *arguments = wanted.command
    command = [sys.executable if program == "python" else program, *arguments]
    try:
        done = subprocess.run(
            command,
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
    except OSError as error:
        return CouldNotRun(f"{program}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return CouldNotRun(f"{' '.join(wanted.command)} takes more than {wanted.timeout:g} s")
    kept = context.keep("tests.txt", done.stdout)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    last = lines[-1].strip("= ") if lines else "no output"
    if done.returncode == 0:
        return Passed(last)
    if done.returncode < 0:
        return CouldNotRun(f"killed by signal {-done.returncode}: {last}", kept)
    if done.returncode == _NO_TESTS and "pytest" in " ".join(wanted.command):
        return CouldNotRun(f"no test ran: {last}", kept)
    return Failed(last, evidence=kept)
