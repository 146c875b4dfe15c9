"""Import contracts, as import-linter reads them from the repository's own configuration."""

from __future__ import annotations

from ci.checks.check import Context
from ci.launch import launch
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict


def contracts(context: Context) -> Verdict:
    """Run import-linter on the repository."""
    done = launch("import-linter", ["--no-cache"], root=context.root, config=context.config)
    if done.told is None:
        return CouldNotRun("import-linter can't be loaded; install import-linter beside this Python")
    lines = [line.strip() for line in done.output.splitlines() if line.strip()]
    if done.status == 0 and any(line.startswith("Contracts:") for line in lines):
        return Passed(next(line for line in lines if line.startswith("Contracts:")))
    broken = [line for line in lines if line.endswith("BROKEN")]
    if broken:
        return Failed("; ".join(broken))
    said = lines[-1] if lines else "no output"
    if said == "Could not read any configuration.":
        said = "import-linter has no [tool.importlinter] in pyproject.toml, and no .importlinter or setup.cfg"
    return CouldNotRun(said)
