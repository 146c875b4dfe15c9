"""Entry point of ``python -m golden`` and of the console script."""

import sys

from golden.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
