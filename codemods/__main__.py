"""``codemods COMMAND``: the static half's commands under one name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

_COMMANDS = {
    "extract": "lift helpers to module level, or say why not",
    "audit": "report what helpers capture, who calls and patches their function",
    "hotpath": "find what stalls the device in loops over environments",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in _COMMANDS:
        module = importlib.import_module(f"codemods.{arguments[0]}")
        return int(module.main(arguments[1:]))
    listing = "".join(f"  {name:10}{text}\n" for name, text in _COMMANDS.items())
    usage = f"usage: codemods COMMAND [OPTIONS]\n\n{listing}"
    if arguments and arguments[0] in ("-h", "--help"):
        sys.stdout.write(usage)
        return 0
    problem = f"codemods: unknown command {arguments[0]}\n" if arguments else ""
    sys.stderr.write(problem + usage)
    return 2


if __name__ == "__main__":
    sys.exit(main())
