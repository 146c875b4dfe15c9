"""The console scripts of an installation, and the packages behind them."""

import os
import sys
from typing import NoReturn


def leave(status: int) -> NoReturn:
    """End the process at once: to take apart what a command has made takes a tenth of its time."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
