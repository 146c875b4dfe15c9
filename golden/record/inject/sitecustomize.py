"""Python runs this module at the start of every process whose PYTHONPATH names this folder.

It loads the observer as soon as the program imports torch, under a private name: the program may have a
package called ``golden`` of its own. A sitecustomize module further down the path still runs.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
_PRIVATE = "_golden_observer"


def _load(module: str) -> Any:
    tool = _HERE.parent.parent
    for name, folder in (
        (_PRIVATE, tool),
        (f"{_PRIVATE}.trace", tool / "trace"),
        (f"{_PRIVATE}.reach", tool / "reach"),
        (f"{_PRIVATE}.record", tool / "record"),
    ):
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = [str(folder)]
            sys.modules[name] = package
    return importlib.import_module(f"{_PRIVATE}.{module}")


class _AfterTorch:
    """Finds torch as everybody does, and calls back when its import is complete."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec("torch")
        if found is None or found.loader is None:
            return found
        execute = found.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            execute(module)
            _load("record.start").start(self._spec)

        found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found


def _chain() -> None:
    rest = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


if "GOLDEN_OBSERVE" in os.environ:
    import random

    _spec = json.loads(os.environ["GOLDEN_OBSERVE"])
    random.seed(_spec["seed"])
    _load("record.entropy").start(_spec["seed"])
    _load("record.ending").start(_spec["out"])
    if _spec.get("observe"):
        _load("record.writes").start(_spec["out"])
    sys.meta_path.insert(0, _AfterTorch(_spec))
    if _spec.get("reach") is not None:
        _load("reach.tracer").start(_spec["reach"])
_chain()
