"""Import contracts, as import-linter reads them from the repository's own configuration."""

from __future__ import annotations

import subprocess

from ci.checks.check import Context, tool
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict


def contracts(context: Context) -> Verdict:
    """Run import-linter on the repository."""
    lint = tool("lint-imports")
    try:
        done = subprocess.run(
            [lint, "--no-cache"],
            cwd=context.root,
            env=context.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return CouldNotRun(f"{lint}: {error.strerror}; install import-linter beside this Python")
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode == 0 and any(line.startswith("Contracts:") for line in lines):
        return Passed(next(line for line in lines if line.startswith("Contracts:")))
    broken = [line for line in lines if line.endswith("BROKEN")]
    if broken:
        return Failed("; ".join(broken))
    said = lines[-1] if lines else "no output"
    if said == "Could not read any configuration.":
        said = "import-linter has no [tool.importlinter] in pyproject.toml, and no .importlinter or setup.cfg"
    return CouldNotRun(said)
