"""``golden-gate COMMAND``: the gate as a console script."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ci import gate, init

_USAGE = """\
usage: golden-gate COMMAND [OPTIONS]

  run   every check of a repository: one table, one exit status
  init  a first configuration, golden run and baseline for a repository that has none
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    match arguments:
        case ["run", *rest]:
            return gate.main(rest)
        case ["init", *rest]:
            return init.main(rest)
        case ["-h" | "--help", *_]:
            sys.stdout.write(_USAGE)
            return 0
    problem = f"golden-gate: unknown command {arguments[0]}\n" if arguments else ""
    sys.stderr.write(problem + _USAGE)
    return 2


if __name__ == "__main__":
    sys.exit(main())
