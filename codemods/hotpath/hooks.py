"""Hooks: functions that run whenever a module does, in the function or the class that registers them."""

from __future__ import annotations

import ast

from codemods.hotpath.arguments import Arguments
from codemods.hotpath.frame import Frame
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.kinds import BOTTOM, MODULE, TENSOR, Kind, join, seq

_SEVERAL = seq(TENSOR)
HOOKS = {
    "register_backward_hook": (MODULE, _SEVERAL, _SEVERAL),
    "register_forward_hook": (MODULE, _SEVERAL, TENSOR),
    "register_forward_pre_hook": (MODULE, _SEVERAL),
    "register_full_backward_hook": (MODULE, _SEVERAL, _SEVERAL),
    "register_full_backward_pre_hook": (MODULE, _SEVERAL),
    "register_hook": (TENSOR,),
    "register_post_accumulate_grad_hook": (TENSOR,),
}
"""Methods that register a hook, and the arguments that it is called with."""


def keep_hook(it: Interpreter, frame: Frame, name: str, arguments: Arguments) -> None:
    """Note a hook that is registered."""
    hook = arguments.first("hook")
    if hook is None or hook.tag not in ("fn", "partial"):
        return
    frame.env[_key(name)] = join(frame.env.get(_key(name), BOTTOM), hook)
    if frame.cls is not None:
        it.set_field(frame.cls, _key(name), hook)


def run_hooks(it: Interpreter, frame: Frame, node: ast.Call, module: Kind) -> None:
    """Call the hooks that are registered here, by this class or by a module's own, as one is called."""
    if not frame.in_loop:
        return
    own = module.of if module.tag == "obj" else ()
    classes = {cls: None for cls in (frame.cls, *own) if cls is not None}
    for name, arguments in HOOKS.items():
        found = frame.find(_key(name)) or BOTTOM
        for cls in classes:
            found = join(found, it.field(cls, _key(name)))
        if found.tag in ("fn", "partial"):
            it.apply(frame, node, found, Arguments(arguments))


def _key(name: str) -> str:
    """A name that no variable has."""
    return f"{name} "
