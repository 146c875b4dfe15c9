"""Python runs this module at the start of every process whose PYTHONPATH names this folder.

It puts the simulated devices in place as soon as the program imports torch, under a private name: the program
may have a package called ``golden`` of its own. A sitecustomize module further down the path still runs.
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
_PRIVATE = "_golden_simulated"


def _start(spec: dict[str, Any]) -> None:
    package = types.ModuleType(_PRIVATE)
    package.__path__ = [str(_HERE.parent)]
    sys.modules[_PRIVATE] = package
    importlib.import_module(f"{_PRIVATE}.start").start(spec)


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
            _start(self._spec)

        found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found


def _chain() -> None:
    # The next one looks for a further one, too, and must not find this one again.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


if "GOLDEN_SIMULATED" in os.environ:
    sys.meta_path.insert(0, _AfterTorch(json.loads(os.environ["GOLDEN_SIMULATED"])))
_chain()
