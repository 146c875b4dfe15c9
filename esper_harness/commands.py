"""The console scripts.

They run the packages that were installed with them, whatever the current folder, ``PYTHONPATH`` or the
environment calls ``golden``, ``codemods`` or ``ci``.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from esper_harness import leave

_HERE = Path(__file__).resolve().parent
# In an installation; in a checkout they are beside this package.
_INSTALLED = (_HERE / "inside", _HERE / "packages")


def codemods() -> None:
    """The static half: ``codemods``."""
    leave(_run("codemods.__main__"))


def golden() -> None:
    """The dynamic half: ``golden``."""
    leave(_run("golden.__main__"))


def golden_gate() -> int:
    """The gate: ``golden-gate``."""
    return _run("ci.__main__")


def _run(module: str) -> int:
    folders = [str(folder) for folder in _INSTALLED if folder.is_dir()] or [str(_HERE.parent)]
    sys.path[:0] = folders
    for name in ("ci", "codemods", "golden"):
        # A module that Python loads at its start (sitecustomize, a .pth file) may have imported another one.
        loaded = getattr(sys.modules.get(name), "__path__", None)
        if loaded is not None and not any(Path(path).parent == Path(f) for path in loaded for f in folders):
            for known in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
                del sys.modules[known]
    return int(importlib.import_module(module).main())
