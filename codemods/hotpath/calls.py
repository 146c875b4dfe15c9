"""Calls: who is called, and with what."""

from __future__ import annotations

import ast

from codemods.hotpath.arguments import Arguments, evaluate_arguments
from codemods.hotpath.expressions import attribute
from codemods.hotpath.frame import Frame, expression
from codemods.hotpath.kinds import (
    BOTTOM,
    HOST,
    TENSOR,
    UNKNOWN,
    Kind,
    holds_tensor,
    is_tensor,
    join,
    seq,
)
from codemods.hotpath.methods import container_method, tensor_method, unknown_method
from codemods.hotpath.modules import Class
from codemods.hotpath.outside import call_external, call_instance
from codemods.hotpath.statements import loop
from codemods.hotpath.vocabulary import COMMON, MODULE_CHAINED, RUNNERS


@expression(ast.Call)
def _call(frame: Frame, node: ast.Call) -> Kind:
    function = node.func
    if isinstance(function, ast.Attribute):
        if _is_super(function.value):
            return _call_super(frame, node, function.attr)
        owner = frame.evaluate(function.value)
        if owner.tag in ("obj", "cls", "mod", "ext"):
            callee = attribute(frame, owner, function.attr, node)
            if owner.tag == "obj" and callee.tag == "unknown":
                return _undefined(frame, node, owner, function.attr)
        else:
            with loop(frame, node, frame.machine.rules.mapped(node)):
                arguments = evaluate_arguments(frame, node)
                return call_method(frame, node, owner, function.attr, arguments)
    else:
        callee = frame.evaluate(function)
    per_env = frame.machine.rules.mapped(node)
    with loop(frame, node, per_env):
        return call_kind(frame, node, callee, evaluate_arguments(frame, node))


def call_kind(frame: Frame, node: ast.Call, callee: Kind, arguments: Arguments) -> Kind:
    """Call something of a kind."""
    machine = frame.machine
    if callee.tag == "fn":
        result = BOTTOM
        for function, this, outer in callee.of:
            result = join(
                result,
                machine.call(frame, node, function, this, arguments.positional, arguments.keywords, outer),
            )
            if "contextmanager" in function.decorators and result.tag != "seq":
                result = seq(result)
        return result
    if callee.tag == "cls":
        return _construct(frame, node, callee, arguments)
    if callee.tag == "ext":
        return call_external(frame, node, callee.of, arguments)
    if callee.tag == "bound":
        owner, name = callee.of
        return call_method(frame, node, owner, name, arguments)
    if callee.tag == "partial":
        inner, positional, keywords = callee.of
        return call_kind(
            frame,
            node,
            inner,
            Arguments((*positional, *arguments.positional), {**dict(keywords), **arguments.keywords}),
        )
    if callee.tag == "obj":
        for name in ("__call__", "forward"):
            bound = attribute(frame, callee, name, node)
            if bound.tag == "fn":
                return call_kind(frame, node, bound, arguments)
        if any(machine.program.external_base(cls, "torch.nn.") for cls in callee.of):
            frame.fenced = False
            return TENSOR
        return UNKNOWN
    if callee.tag == "inst":
        return call_instance(frame, node, callee.of, "__call__", arguments)
    if callee.tag == "host":
        return HOST
    run_arguments(frame, node, arguments)
    if any(map(holds_tensor, arguments.all())):
        frame.fenced = False
    return UNKNOWN


def call_method(frame: Frame, node: ast.Call, owner: Kind, name: str, arguments: Arguments) -> Kind:
    """Call a method of a value that is no instance of a class of the program."""
    if owner.tag in ("tensor", "mask", "cpu"):
        return tensor_method(frame, node, owner, name, arguments)
    if owner.tag in ("seq", "tup", "map", "host", "text"):
        return container_method(frame, node, owner, name, arguments)
    if owner.tag in ("inst", "stream", "event"):
        return call_instance(frame, node, owner.of or owner.tag, name, arguments)
    if owner.tag == "device":
        return HOST
    result = unknown_method(frame, node, owner, name, arguments)
    if result is not None:
        return result
    followed = _follow_by_name(frame, node, name, arguments)
    run_arguments(frame, node, arguments)
    return UNKNOWN if followed is None else followed


def _follow_by_name(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Kind | None:
    """Call the methods of this name, where the program has few."""
    machine = frame.machine
    if name in COMMON or name.startswith("__"):
        return None
    found = machine.program.methods_named(name)
    if not 0 < len(found) <= machine.config.follow_unknown:
        return None
    result = BOTTOM
    for function in found:
        this = Kind("obj", (function.cls,)) if function.cls is not None else None
        if "classmethod" in function.decorators and function.cls is not None:
            this = Kind("cls", (function.cls,))
        kind = machine.call(frame, node, function, this, arguments.positional, arguments.keywords)
        result = join(result, kind)
    return result


def run_arguments(frame: Frame, node: ast.Call, arguments: Arguments) -> None:
    """Functions given to something that runs them (an executor, ``map`` of a pool) are called by it."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in RUNNERS:
        return
    for kind in arguments.all():
        if kind.tag in ("fn", "partial", "bound"):
            others = tuple(other for other in arguments.positional if other is not kind)
            call_kind(frame, node, kind, Arguments(others))


def _construct(frame: Frame, node: ast.Call, callee: Kind, arguments: Arguments) -> Kind:
    machine = frame.machine
    for cls in callee.of:
        this = Kind("obj", (cls,))
        init = machine.program.method(cls, "__init__")
        if init is not None:
            machine.call(frame, node, init, this, arguments.positional, arguments.keywords)
            continue
        _fill(frame, cls, arguments)
        after = machine.program.method(cls, "__post_init__")
        if after is not None:
            machine.call(frame, node, after, this)
    return Kind("obj", callee.of)


def _fill(frame: Frame, cls: Class, arguments: Arguments) -> None:
    """Note what the fields of a dataclass are filled with."""
    machine = frame.machine
    owners: dict[str, Class] = {}
    for item in reversed(machine.program.mro(cls)):
        if isinstance(item, Class):
            for name in item.fields:
                owners.setdefault(name, item)
                owners[name] = item
    passed = dict(zip(owners, arguments.positional, strict=False))
    passed.update((name, kind) for name, kind in arguments.keywords.items() if name in owners)
    for name, kind in passed.items():
        if kind.tag != "unknown":
            machine.set_field(owners[name], name, kind)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _call_super(frame: Frame, node: ast.Call, name: str) -> Kind:
    arguments = evaluate_arguments(frame, node)
    if frame.cls is None or frame.function is None:
        return UNKNOWN
    method = frame.machine.program.method(frame.cls, name, after=frame.cls)
    if method is None:
        return TENSOR if name == "forward" else UNKNOWN
    this = Kind("obj", (frame.cls,))
    return frame.machine.call(frame, node, method, this, arguments.positional, arguments.keywords)


def _undefined(frame: Frame, node: ast.Call, owner: Kind, name: str) -> Kind:
    """A method that a class inherits from outside the program, or an attribute of unknown kind."""
    arguments = evaluate_arguments(frame, node)
    if any(frame.machine.program.external_base(cls, "torch.nn.") for cls in owner.of):
        if name == "cpu":
            frame.report("HP002", node)
        if name in MODULE_CHAINED:
            return owner
        return call_instance(frame, node, "torch.nn.Module", name, arguments)
    result = unknown_method(frame, node, UNKNOWN, name, arguments)
    run_arguments(frame, node, arguments)
    if any(map(is_tensor, arguments.all())):
        frame.fenced = False
    return UNKNOWN if result is None else result
