"""Processes of tests start in half the time: torch's compiler is loaded when something is asked of it.

The first step of any optimizer imports torch._dynamo, which takes about as long as torch itself, to say
that the compiler shall stay out. Here that much is answered without it; any other use loads it, as ever, in
place. Python runs this module at the start of every process whose PYTHONPATH names this folder, unless
TORCH_COMPILER is set to "loaded".
"""

import importlib.machinery
import os
import sys
import types
from typing import Any

NAME = "torch._dynamo"


class _Compiler(types.ModuleType):
    """torch._dynamo before it is loaded."""

    # What DistributedDataParallel asks for when it is made, and a process group at its end.
    utils = types.SimpleNamespace(get_optimize_ddp_mode=lambda: "ddp_optimizer")
    trace_rules = types.SimpleNamespace(clear_lru_cache=lambda: None)

    def graph_break(self, msg: str = "") -> None:
        """What is not compiled needs no break."""

    def disable(self, fn: Any = None, recursive: bool = True, **_: Any) -> Any:
        """What is not compiled need not be left out."""
        return fn if fn is not None else lambda function: function

    def __getattr__(self, name: str) -> Any:
        # Of these the import system asks for what a module that is no package has not.
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        spec = self.__spec__
        assert spec is not None
        self.__class__ = types.ModuleType  # type: ignore[assignment]
        self.__path__ = spec.submodule_search_locations
        assert spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


def _create(spec: importlib.machinery.ModuleSpec) -> _Compiler:
    module = _Compiler(spec.name)
    module.__path__ = spec.submodule_search_locations  # looked for as the module is made, and gone after that
    return module


class _Later:
    """Finds torch._dynamo and puts off its execution."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != NAME:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path)
        if found is None or found.loader is None:
            return found
        execute = found.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            found.loader.exec_module = execute  # type: ignore[method-assign,union-attr]
            del module.__path__

        found.loader.create_module = _create  # type: ignore[method-assign]
        found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found


if os.environ.get("TORCH_COMPILER") != "loaded":
    sys.meta_path.insert(0, _Later())
