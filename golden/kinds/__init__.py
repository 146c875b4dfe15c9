"""The kinds of things that a process holds at its end or at every step, one module each, found by a walk.

A module has a class ``Observed``, a `Kind`. Records, goldens, comparisons and reports take any of them.
"""

from __future__ import annotations

import importlib
import pkgutil

from .kind import Kind

_BASE = "kind"


def kinds() -> list[Kind]:
    """Return one of each, by the name of its module."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__) if info.name != _BASE)
    return [importlib.import_module(f"{__name__}.{name}").Observed() for name in names]
