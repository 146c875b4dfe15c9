"""``codemods COMMAND``: the static half's commands under one name."""

from __future__ import annotations

from collections.abc import Sequence

from esper_harness import leave
from esper_harness.program import Commands

_COMMANDS = {
    "extract": ("codemods.extract", "Lift helpers to module level, or say why not."),
    "audit": ("codemods.audit.cli", "Report what helpers capture, what tests patch, and what can be lifted."),
    "hotpath": ("codemods.hotpath.cli", "Find what stalls the device in hot loops."),
    "review": ("codemods.review.cli", "Say what of a change is proven equal, and what is left to read."),
}


program = Commands(
    "codemods",
    "Lift helpers, move code by plans, find what stalls the device.\n\n"
    "Exit status: 0 done or clean, 1 something was refused, found or would be changed, 2 unusable input.",
    _COMMANDS,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; the exit status."""
    return program.run(argv)


if __name__ == "__main__":
    leave(main())
