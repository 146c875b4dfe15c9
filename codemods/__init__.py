"""The static half: lift helpers, move code by a plan, audit captures and seams, flag device syncs."""

from __future__ import annotations

import importlib
from collections.abc import Callable


def public(package: str, **names: str) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package: its public names, which load their modules."""
    homes = {name: module for module, given in names.items() for name in given.split()}

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(name)
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return get
