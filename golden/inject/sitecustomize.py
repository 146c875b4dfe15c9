"""Python runs this module at the start of every process whose PYTHONPATH names this folder.

It puts simulated devices in place and loads the observer as soon as the program imports torch, under a
private name: the program may have a package called ``golden`` of its own. A sitecustomize module further down
the path still runs.
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
_PRIVATE = "_golden"


def _load(module: str) -> Any:
    for folder in ("", "trace", "reach", "record", "simulated"):
        name = f"{_PRIVATE}.{folder}".rstrip(".")
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = [str(_HERE.parent / folder)]
            sys.modules[name] = package
    return importlib.import_module(f"{_PRIVATE}.{module}")


class _AfterTorch:
    """Finds torch as everybody does, and calls back when its import is complete."""

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
            if _devices:
                _load("simulated.api").start(json.loads(_devices))
            if _spec:
                _load("record.start").start(_spec)

        found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found


def _chain() -> None:
    rest = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


_devices = os.environ.get("GOLDEN_SIMULATED")
_spec = json.loads(os.environ.get("GOLDEN_OBSERVE", "{}"))
if _spec:
    import random

    for _stream in filter(None, (sys.stdout, sys.stderr)):
        _stream.reconfigure(line_buffering=True, write_through=False)
    random.seed(_spec["seed"])
    _load("record.entropy").start(_spec["seed"])
    _load("record.exit_notes").start(_spec["out"])
    if _spec.get("observe"):
        _load("record.writes").start(_spec["out"])
    if _spec.get("reach") is not None:
        _load("reach.tracer").start(_spec["reach"])
if _devices or _spec:
    sys.meta_path.insert(0, _AfterTorch())
_chain()
