"""Modules that must stay light to import: what each loads in a fresh interpreter."""

from __future__ import annotations

import subprocess

from ci.checks.check import Context
from ci.config import Isolation
from ci.launch import launch
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict

_TIMEOUT = 120


def isolation(context: Context, wanted: Isolation) -> Verdict:
    """Import one module, and see whether a forbidden one came with it."""
    words = [wanted.module, *wanted.without]
    try:
        done = launch("imports", words, root=context.root, config=context.config, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        return CouldNotRun(f"importing {wanted.module} takes more than {_TIMEOUT} s")
    if done.status != 0 or done.told is None:
        lines = done.output.strip().splitlines()
        return CouldNotRun(f"{wanted.module} can't be imported: {lines[-1] if lines else 'no output'}")
    if done.told["chains"]:
        return Failed("; ".join(" -> ".join(chain) for chain in done.told["chains"].values()))
    return Passed(f"{done.told['loaded']} modules, none of them {', '.join(wanted.without)}")
