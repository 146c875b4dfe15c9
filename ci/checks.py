"""The checks of the gate: each runs one of the tools and says passed, failed or could not run."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.config import GateConfig
from codemods.extract import main as extract
from golden.cli import main as golden
from golden.trace.errors import ExitCode


@dataclass(frozen=True, slots=True)
class Passed:
    """The check ran and found nothing."""

    detail: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The check ran and found something."""

    detail: str


@dataclass(frozen=True, slots=True)
class CouldNotRun:
    """The check did not get to a verdict, which counts as a failure."""

    reason: str


Verdict = Passed | Failed | CouldNotRun


@dataclass(frozen=True, slots=True)
class Check:
    """A named check, ready to run."""

    name: str
    run: Callable[[], Verdict]


def checks(config: GateConfig, root: Path, base: str | None) -> list[Check]:
    """What the configuration asks for, in the order of its cost."""
    found = []
    if config.contracts:
        found.append(Check("import contracts", lambda: _contracts(root)))
    for pattern in config.plans:
        for plan in sorted(root.glob(pattern)) or [root / pattern]:
            found.append(Check(f"plan {plan.stem}", lambda plan=plan: _plan(plan, root)))  # type: ignore[misc]
    for name in config.runs:
        found.append(Check(f"golden {name}", lambda name=name: _golden(name, root, base)))  # type: ignore[misc]
    return found


def _contracts(root: Path) -> Verdict:
    lint = Path(sys.executable).with_name("lint-imports")
    try:
        done = subprocess.run([lint, "--no-cache"], cwd=root, capture_output=True, text=True, check=False)
    except OSError as error:
        return CouldNotRun(f"{lint}: {error.strerror}; install import-linter beside this Python")
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode == 0 and any(line.startswith("Contracts:") for line in lines):
        return Passed(next(line for line in lines if line.startswith("Contracts:")))
    broken = [line for line in lines if line.endswith("BROKEN")]
    return Failed("; ".join(broken)) if broken else CouldNotRun(lines[-1] if lines else "no output")


def _plan(plan: Path, root: Path) -> Verdict:
    status, lines = _call(extract, ["--plan", str(plan), "--root", str(root), "--check"])
    if status == 0:
        return Passed("the tree is what the plan makes")
    if status == 1:
        return Failed(f"run: python -m codemods.extract --plan {plan.relative_to(root)} --write")
    return CouldNotRun(lines[-1] if lines else f"exit status {status}")


def _golden(name: str, root: Path, base: str | None) -> Verdict:
    command = ["ab", name, "--base", base] if base else ["verify", name]
    status, lines = _call(golden, [*command, "--root", str(root)])
    detail = "; ".join(lines[-2:]) if status == ExitCode.IDENTICAL else "; ".join(lines[:3])
    match status:
        case ExitCode.IDENTICAL:
            return Passed(detail)
        case ExitCode.DIFFERENT:
            return Failed(detail)
        case ExitCode.NOTHING_COMPARABLE if base is None:
            return CouldNotRun(f"{detail}; compare two versions instead with --base REF")
        case _:
            return CouldNotRun(detail or f"exit status {status}")


def _call(main: Callable[[list[str]], int], arguments: Sequence[str]) -> tuple[int, list[str]]:
    """Run a tool's command line in this process: its exit status and what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = main(list(arguments))
    return status, [line.strip() for line in printed.getvalue().splitlines() if line.strip()]
