"""Entry point of ``python -m golden`` and of the console script."""

from esper_harness import leave
from golden.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    leave(main())
