"""Processes of tests start in half the time: what few of them need of torch is loaded when it is needed.

The first step of any optimizer imports torch._dynamo, which takes as long as torch itself, to say that the
compiler shall stay out. Here that much is answered without it; any other use loads it, as ever, in place. A
third of torch itself is torch._meta_registrations, the shapes of results for tensors without values; it is
loaded for those and for the compiler. Python runs this module at the start of every process whose
PYTHONPATH names this folder, unless TORCH_COMPILER is set to "loaded". It imports little, for the processes
that need no torch.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
import types

COMPILER = "torch._dynamo"
SHAPES = "torch._meta_registrations"


class _Later(types.ModuleType):
    """A module before it is loaded."""

    def __getattr__(self, name: str) -> object:
        # Of these the import system asks for what a module need not have; a package is found by its path.
        if name.startswith("__") and (name != "__path__" or _folder(self) is None):
            raise AttributeError(name)
        _load(self)
        return getattr(self, name)


class _Compiler(_Later):
    """torch._dynamo before it is loaded."""

    # What DistributedDataParallel asks for when it is made, and a process group at its end.
    utils = types.SimpleNamespace(get_optimize_ddp_mode=lambda: "ddp_optimizer")
    trace_rules = types.SimpleNamespace(clear_lru_cache=lambda: None)

    def graph_break(self, msg: str = "") -> None:
        """What is not compiled needs no break."""

    def disable(self, fn: object = None, recursive: bool = True, **_: object) -> object:
        """What is not compiled need not be left out."""
        return fn if fn is not None else lambda function: function


def _load(module: types.ModuleType) -> None:
    """Load in place what was put off, before the compiler the shapes."""
    if not isinstance(module, _Later):
        return
    module.__class__ = types.ModuleType
    folder = _folder(module)
    if folder is not None:
        module.__path__ = folder
        _load(sys.modules[SHAPES])
    module.__spec__.loader.exec_module(module)


def _folder(module: types.ModuleType) -> list[str] | None:
    return module.__spec__.submodule_search_locations


def _load_for_modes() -> None:
    """Have the shapes loaded by what makes tensors without values: fake ones, and those of device "meta"."""
    fake = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode
    device = importlib.import_module("torch.utils._device").DeviceContext
    for mode in (fake, device):
        _load_in(mode, any_device=mode is fake)
    # A generator is made with a class that torch since 2.13 sets on the way to the shapes.
    bind = getattr(sys.modules["torch._C"], "_set_generator_metaclass", None)
    if bind is not None:
        bind(importlib.import_module("torch._opaque_base").OpaqueBaseMeta)


def _load_in(mode: type, any_device: bool) -> None:
    init = mode.__init__

    def __init__(self: object, *args: object, **named: object) -> None:
        if any_device or "meta" in map(str, args):
            _load(sys.modules[SHAPES])
        init(self, *args, **named)

    mode.__init__ = __init__


def _create(spec: importlib.machinery.ModuleSpec) -> _Later:
    module = (_Compiler if spec.name == COMPILER else _Later)(spec.name)
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations  # looked for as it is made, and gone after that
    return module


class _Finder:
    """Finds both modules and puts off their execution."""

    def find_spec(
        self, name: str, path: list[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in (COMPILER, SHAPES):
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path)
        if found is None or found.loader is None:
            return found
        execute = found.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            found.loader.exec_module = execute
            if name == COMPILER:
                del module.__path__
            else:
                _load_for_modes()

        found.loader.create_module = _create
        found.loader.exec_module = exec_module
        return found


if os.environ.get("TORCH_COMPILER") != "loaded":
    sys.meta_path.insert(0, _Finder())
