"""Every operation before one optimizer step, with digests of what goes in and what comes out.

Slow, and only used to locate a divergence that is known already.
"""

from __future__ import annotations

import json
import multiprocessing.queues
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..trace.digest import described
from ..trace.kinds import OPERATIONS_AT_MOST
from .reads import place_of

_RECEIVING = multiprocessing.queues.__file__


class OperationLog(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes one line per operation from its start to its end."""

    def __init__(self, path: Path) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._pid = os.getpid()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w", encoding="utf-8")
        self._lines = 0
        self._stack: list[str] = []
        self._names: dict[int, str] = {}
        self._module_of_node: dict[int, str] = {}
        self._handles = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]

    def _enter_module(self, module: nn.Module, inputs: Any) -> None:
        if not self._stack:
            self._names = {id(m): name for name, m in module.named_modules()}
        name = self._names.get(id(module), "")
        self._stack.append(f"{name} ({type(module).__name__})" if name else type(module).__name__)

    def _leave_module(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._stack:
            self._stack.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if os.getpid() != self._pid:
            return func(*args, **kwargs)
        node = torch._C._current_autograd_node()
        if node is not None:
            where = f"backward of {self._module_of_node.get(node._sequence_nr(), node.name())}"
        else:
            where = self._stack[-1] if self._stack else "outside modules"
            self._module_of_node[torch._C._autograd._get_sequence_nr()] = where
        place = _place()
        before = _digests((args, kwargs))
        out = func(*args, **kwargs)
        # What other processes sent is taken in whatever order it comes.
        if self._lines < OPERATIONS_AT_MOST and place is not None:
            self._lines += 1
            others = [leaf for leaf in tree_leaves((args, kwargs)) if not isinstance(leaf, torch.Tensor)]
            line = {
                "name": str(func),
                "where": where,
                "place": place,
                "arguments": list(map(_text, others)),
                "inputs": before,
                # An operation may also write to its arguments.
                "outputs": _digests((out, args)),
            }
            self._file.write(json.dumps(line) + "\n")
        return out

    def start(self) -> None:
        """Begin the log."""
        self.__enter__()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """End the log."""
        self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        for handle in self._handles:
            handle.remove()
        self._file.close()


def _digests(tree: Any) -> list[str]:
    tensors = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
    with torch._C._DisableTorchDispatch(), torch.no_grad():
        return [described(tensor) for tensor in tensors if tensor.device.type != "meta"]


def _text(value: Any) -> str:
    return " ".join(repr(value).split())[:80]


def _place() -> str | None:
    """Return the line that asked for an operation; None for what comes from another process."""
    receiving: Any = sys._getframe(2)
    place = place_of(receiving)
    while receiving is not None and receiving.f_code.co_filename != _RECEIVING:
        receiving = receiving.f_back
    return place if receiving is None else None
