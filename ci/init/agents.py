"""The rules of the gate for coding agents: a section of the repository's AGENTS.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ci.config import ConfigError
from golden.check.fixtures import write_whole

FILE = "AGENTS.md"
_BEGIN = "<!-- golden-gate: begin; `golden-gate init --agents` writes this section -->"
_END = "<!-- golden-gate: end -->"
_RULES = """\
## Refactoring here

Every pull request passes `golden-gate run`: it runs the training seeded and compares it bit for bit. So work
in steps that it can prove.

1. A commit either refactors or changes behaviour, never both. Commit before you begin: steps are compared
   with `HEAD`.
2. Let the machine move code. `codemods extract FILE --function NAME` shows which nested helpers can be
   lifted, and the diff; `--write` does it. A plan says what goes to which module:
   `codemods extract --plan PLAN.toml`.
3. A refusal has a code, a line and a way out; `codemods extract --explain CODE` tells more. Take the way out,
   or leave that helper where it is. Don't do by hand what was refused: behaviour would change.
4. After each step: {ab}. Exit status 0 means identical: commit. 1 means different:
   the first step, layer and tensor that differ are named. Undo the step or repair it; a small difference is
   a difference. 2, 3 and 4 mean that nothing was judged: that is not a pass.
5. Before you hand over: `golden-gate run --base main` (or the branch that yours goes to). Quote its table.
6. Never make a check pass by changing what it checks: `[tool.gate]`, `golden/runs`, `golden/fixtures`,
   `hotpath-baseline.toml`, tolerances, `# hotpath: allow` comments, tests.
7. If behaviour is meant to change, say so first, and keep it apart: the change, then in a commit of its own
   the goldens that it renews (`golden record RUN --update`), with what differs and why.
"""


def section(runs: Sequence[str]) -> str:
    """The section, with the names of the repository's golden runs."""
    named = f" {' '.join(runs)}" if runs else ""
    return f"{_BEGIN}\n{_RULES.format(ab=f'`golden ab --base HEAD{named}`')}{_END}\n"


def with_section(before: str, runs: Sequence[str]) -> str:
    """The text of AGENTS.md with the section: in place of an older one, else at the end.

    Raises `ConfigError` if one of its two marks is missing.
    """
    start, end = before.find(_BEGIN), before.find(_END)
    if (start < 0) != (end < 0) or end < start:
        raise ConfigError(
            f"{FILE} has one of the two golden-gate marks without the other; remove it, then run this again"
        )
    if start < 0:
        return before + ("\n" if before else "") + section(runs)
    return before[:start] + section(runs).removesuffix("\n") + before[end + len(_END) :]


def runs_of(root: Path) -> list[str]:
    """The runs that the repository has files for."""
    return sorted(path.stem for path in (root / "golden" / "runs").glob("*.toml"))


def write_section(root: Path, *, dry_run: bool) -> int:
    """Write the section into the repository's AGENTS.md, or show it. Raises `ConfigError`."""
    path = root / FILE
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    after = with_section(before, runs_of(root))
    if dry_run:
        click.echo(section(runs_of(root)), nl=False)
    elif after == before:
        click.echo(f"{FILE} has it already")
    else:
        write_whole(path, after)
        click.echo(f"wrote {FILE}")
    return 0
