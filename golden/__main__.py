"""Entry point of ``python -m golden`` and of the console script."""

import sys
from collections.abc import Sequence

from esper_harness.extras import missing_extra


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status says what came of it."""
    try:
        from golden.cli import main as command

        return command(None if argv is None else list(argv))
    except ModuleNotFoundError as error:
        line = missing_extra(error, "golden")
        if line is None:
            raise
        sys.stderr.write(f"{line}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
