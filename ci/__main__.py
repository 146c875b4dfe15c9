"""``golden-gate COMMAND``: the gate as a console script."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from esper_harness.program import Commands

_COMMANDS = {
    "run": ("ci.gate", "Every check of a repository: one table, one exit status."),
    "init": (
        "ci.init.command",
        "A first configuration, golden run and baseline of a repository.",
    ),
}
program = Commands(
    "golden-gate", "Every check that a repository asks for, on a pull request.", _COMMANDS, extra="gate"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; the exit status."""
    return program.run(argv)


if __name__ == "__main__":
    sys.exit(main())
