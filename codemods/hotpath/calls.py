"""Calls: who is called, and with what."""

from __future__ import annotations

import ast
import re
import sys

from codemods.hotpath.arguments import Arguments, spelled
from codemods.hotpath.binding import UNNAMED
from codemods.hotpath.callbacks import apply_external, run_arguments
from codemods.hotpath.expressions import EXPRESSIONS, attribute, expression
from codemods.hotpath.frame import Frame
from codemods.hotpath.hooks import HOOKS, keep_hook, run_hooks
from codemods.hotpath.interpreter import Interpreter, Tables
from codemods.hotpath.iteration import opened
from codemods.hotpath.kinds import (
    BOTTOM,
    DISTRIBUTIONS,
    HOST,
    MODULE,
    TENSOR,
    UNKNOWN,
    Kind,
    element,
    holds_tensor,
    is_tensor,
    join,
    modules,
    on_device,
    one_module,
    seq,
    tup,
)
from codemods.hotpath.methods import container_method, tensor_method, unknown_method
from codemods.hotpath.modules import Class
from codemods.hotpath.outcome import Outcome
from codemods.hotpath.outside import (
    UNCHECKED,
    call_external,
    call_instance,
    made_distribution,
)
from codemods.hotpath.signature import fits
from codemods.hotpath.statements import STATEMENTS, keep, loop, truth
from codemods.hotpath.vocabulary import COMMON, MODULE_CHAINED, MODULE_NAMES

_CONTAINERS = frozenset(f"torch.nn.{name}" for name in ("ModuleList", "ModuleDict", "Sequential"))
# What a class of distributions says that has its own arguments looked at by nobody.
_UNCHECKED = re.compile(r"validate_args\s*=\s*False")
_MODEL = re.compile(r"(?:^|_)(?:actor|critic|criterion|decoder|encoder|model|net|network|policy)\d*$")
_MODULES = frozenset({"inst", "mods", "obj", "spread"})
_UNDERSTOOD = frozenset({"builtins", "torch", "numpy", *sys.stdlib_module_names})
"""Packages whose functions are told by their names."""


@expression(ast.Call)
def _call(it: Interpreter, frame: Frame, node: ast.Call) -> Kind:
    function = node.func
    if it.hooked and isinstance(function, ast.Attribute) and function.attr in HOOKS:
        it.evaluate(frame, function.value)
        keep_hook(it, frame, function.attr, evaluate_arguments(it, frame, node))
        return HOST
    if isinstance(function, ast.Attribute):
        if _is_super(function.value):
            return _call_super(it, frame, node, function.attr)
        owner = it.evaluate(frame, function.value)
        if owner.tag == "spread" and function.attr not in MODULE_CHAINED:
            owner = owner.of
        if owner.tag in ("obj", "cls", "mod", "ext"):
            callee = attribute(it, frame, owner, function.attr, node)
            if owner.tag == "obj" and callee.tag == "unknown":
                return _undefined(it, frame, node, owner, function.attr)
        else:
            if not it.written.mapped(node):
                return call_method(it, frame, node, owner, function.attr, evaluate_arguments(it, frame, node))
            with loop(it, frame, node, per_env=True):
                arguments = evaluate_arguments(it, frame, node)
                return call_method(it, frame, node, owner, function.attr, arguments)
    else:
        callee = it.evaluate(frame, function)
    if not it.written.mapped(node):
        return call_kind(it, frame, node, callee, evaluate_arguments(it, frame, node))
    with loop(it, frame, node, per_env=True):
        return call_kind(it, frame, node, callee, evaluate_arguments(it, frame, node))


def call_kind(it: Interpreter, frame: Frame, node: ast.Call, callee: Kind, arguments: Arguments) -> Kind:
    """Call something of a kind."""
    if it.hooked and (callee.tag in _MODULES or _named_module(callee, node)):
        run_hooks(it, frame, node, callee)
    if callee.tag == "fn":
        result = BOTTOM
        for function, this, outer in callee.of:
            result = join(
                result,
                it.call(frame, node, function, this, arguments.positional, arguments.keywords, outer),
            )
            if "contextmanager" in function.decorators and result.tag != "seq":
                result = seq(result)
        return result
    if callee.tag == "cls":
        return _construct(it, frame, node, callee, arguments)
    if callee.tag == "ext":
        if callee.of in _CONTAINERS:
            return _contained(it, frame, node, callee, arguments)
        if callee.of.partition(".")[0] not in _UNDERSTOOD:
            it.not_followed(frame, node, "of other packages")
        if any(kind.tag == "obj" for kind in arguments.positional):
            arguments = opened(it, frame, node, callee.of, arguments)
        given = apply_external(it, frame, node, callee.of, arguments)
        return _take(it, frame, node, call_external(callee.of, arguments)) if given is None else given
    if callee.tag == "bound":
        owner, name = callee.of
        return call_method(it, frame, node, owner, name, arguments)
    if callee.tag == "partial":
        inner, positional, keywords = callee.of
        return call_kind(
            it,
            frame,
            node,
            inner,
            Arguments((*positional, *arguments.positional), {**dict(keywords), **arguments.keywords}),
        )
    if callee.tag == "obj":
        for name in ("__call__", "forward"):
            bound = attribute(it, frame, callee, name, node)
            if bound.tag == "fn":
                return call_kind(it, frame, node, bound, arguments)
        if any(it.program.external_base(cls, "torch.nn.") for cls in callee.of):
            return _take(it, frame, node, call_instance("torch.nn.Module", "__call__", arguments))
        return UNKNOWN
    if callee.tag == "inst":
        result = _take(it, frame, node, call_instance(callee.of, "__call__", arguments))
        frame.on_host = frame.on_host or (result.tag == "cpu" and callee.of.startswith("torch.nn."))
        return result
    if callee.tag == "mods":
        return _chain(it, frame, node, callee, arguments)
    if callee.tag == "spread":
        moved = arguments._replace(
            positional=tuple(map(on_device, arguments.positional)),
            keywords={name: on_device(kind) for name, kind in arguments.keywords.items()},
        )
        return call_kind(it, frame, node, callee.of, moved)
    if callee.tag == "host":
        return HOST
    if _named_module(callee, node) or (callee.tag == "unknown" and _given_to_model(node, arguments)):
        frame.fenced = False
        return TENSOR
    run_arguments(it, frame, node, arguments)
    it.not_followed(frame, node, "of something unknown")
    if any(map(holds_tensor, arguments.all())):
        frame.fenced = False
    return UNKNOWN


def _named_module(callee: Kind, node: ast.Call) -> bool:
    return callee.tag == "unknown" and spelled(node.func).lower().strip("_") in MODULE_NAMES


def _given_to_model(node: ast.Call, arguments: Arguments) -> bool:
    """Tell whether tensors are given to what is called like a module in more than its last word."""
    return _MODEL.search(spelled(node.func).lower()) is not None and any(map(is_tensor, arguments.all()))


def _chain(it: Interpreter, frame: Frame, node: ast.Call, callee: Kind, arguments: Arguments) -> Kind:
    """Call the modules of an ``nn.Sequential`` one after the other."""
    result = TENSOR
    for part in callee.of:
        result = it.apply(frame, node, part, arguments)
        arguments = Arguments((result,))
    return result


def call_method(
    it: Interpreter, frame: Frame, node: ast.Call, owner: Kind, name: str, arguments: Arguments
) -> Kind:
    """Call a method of a value that is no instance of a class of the program."""
    if owner.tag in ("tensor", "mask", "cpu"):
        return _take(it, frame, node, tensor_method(owner, name, arguments))
    if owner.tag == "spread":  # `to`, `train` and the like
        call_method(it, frame, node, MODULE, name, arguments)
        return owner
    if name == "step":
        run_arguments(it, frame, node, arguments)  # `optimizer.step(closure)`
    if owner.tag == "mods":
        return _of_modules(it, frame, node, owner, name, arguments)
    if owner.tag in ("seq", "tup", "map", "host", "text"):
        return _take(it, frame, node, container_method(owner, name, arguments))
    if owner.tag in ("inst", "stream", "event"):
        dotted = owner.of or owner.tag
        if not dotted.startswith(("torch.", "stream", "event")):
            run_arguments(it, frame, node, arguments)
        return _take(it, frame, node, call_instance(dotted, name, arguments))
    if owner.tag == "device":
        return HOST
    outcome = unknown_method(owner, name, arguments)
    if outcome is not None:
        return _take(it, frame, node, outcome)
    followed = _follow_by_name(it, frame, node, name, arguments)
    run_arguments(it, frame, node, arguments)
    return UNKNOWN if followed is None else followed


def _contained(it: Interpreter, frame: Frame, node: ast.Call, callee: Kind, arguments: Arguments) -> Kind:
    """A container of modules: those of the program among them are what calls through it reach."""
    parts: list[Kind] = []
    for kind in arguments.positional:
        if kind.tag in ("seq", "map"):
            parts.append(kind.of)
        elif kind.tag in ("tup", "mods"):
            parts += kind.of
        else:
            parts.append(kind)
    made = modules(parts)
    return made if made.of or not parts else Kind("inst", callee.of)


def _follow_by_name(
    it: Interpreter, frame: Frame, node: ast.Call, name: str, arguments: Arguments
) -> Kind | None:
    """Call the methods of this name, where the program has few."""
    found = [function for function in it.program.methods_named(name) if fits(node, function)]
    if not found:
        it.not_followed(frame, node, "of something unknown")
        return None
    if name in COMMON or name.startswith("__") or len(found) > it.config.follow_unknown:
        it.not_followed(frame, node, "of something unknown by a name that many classes have")
        return None
    result = BOTTOM
    for function in found:
        this = Kind("obj", (function.cls,)) if function.cls is not None else None
        if "classmethod" in function.decorators and function.cls is not None:
            this = Kind("cls", (function.cls,))
        kind = it.call(frame, node, function, this, arguments.positional, arguments.keywords)
        result = join(result, kind)
    return result


def _of_modules(
    it: Interpreter, frame: Frame, node: ast.Call, owner: Kind, name: str, arguments: Arguments
) -> Kind:
    """A method of a container of modules, or one of the modules in it called by its name."""
    if name in ("append", "extend", "insert", "add_module", "update", "register_module"):
        given = arguments.positional[-1:] if name != "extend" else tuple(map(element, arguments.positional))
        keep(it, frame, node.func.value, modules((*owner.of, *given)))  # type: ignore[attr-defined]
        return owner
    views = {
        "values": seq(one_module(owner)),
        "items": seq(tup((HOST, one_module(owner)))),
        "keys": seq(HOST),
    }
    if name in views:
        return views[name]
    if name in MODULE_CHAINED or name in (
        "parameters",
        "state_dict",
        "named_parameters",
        "modules",
        "children",
    ):
        outcome = call_instance("torch.nn.Module", name, arguments)
        kind = _take(it, frame, node, outcome)
        return owner if name in MODULE_CHAINED else kind
    return it.apply(frame, node, one_module(owner), arguments)


def _construct(it: Interpreter, frame: Frame, node: ast.Call, callee: Kind, arguments: Arguments) -> Kind:
    for cls in callee.of:
        this = Kind("obj", (cls,))
        init = it.program.method(cls, "__init__")
        if init is not None:
            it.call(frame, node, init, this, arguments.positional, arguments.keywords)
            continue
        if it.program.external_base(cls, DISTRIBUTIONS):
            _take(it, frame, node, made_distribution(this, arguments))
        _fill(it, frame, cls, arguments)
        after = it.program.method(cls, "__post_init__")
        if after is not None:
            it.call(frame, node, after, this)
    return Kind("obj", callee.of)


def _fill(it: Interpreter, frame: Frame, cls: Class, arguments: Arguments) -> None:
    """Note what the fields of a dataclass are filled with."""
    owners: dict[str, Class] = {}
    for item in reversed(it.program.mro(cls)):
        if isinstance(item, Class):
            for name in item.fields:
                owners.setdefault(name, item)
                owners[name] = item
    passed = dict(zip(owners, arguments.positional, strict=False))
    passed.update((name, kind) for name, kind in arguments.keywords.items() if name in owners)
    for name, kind in passed.items():
        if kind.tag != "unknown":
            it.set_field(owners[name], name, kind)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _call_super(it: Interpreter, frame: Frame, node: ast.Call, name: str) -> Kind:
    arguments = evaluate_arguments(it, frame, node)
    if frame.cls is None or frame.function is None:
        return UNKNOWN
    method = it.program.method(frame.cls, name, after=frame.cls)
    if method is None:
        base = _distribution(it, frame.cls, arguments)
        if base is not None:
            made = made_distribution(UNKNOWN, arguments)
            return _take(
                it, frame, node, made if name == "__init__" else call_instance(base, name, arguments)
            )
        return TENSOR if name == "forward" else UNKNOWN
    this = Kind("obj", (frame.cls,))
    return it.call(frame, node, method, this, arguments.positional, arguments.keywords)


def _distribution(it: Interpreter, cls: Class, arguments: Arguments) -> str | None:
    """The distribution of torch that a class is one of, if it is."""
    order = it.program.mro(cls)
    for item in order:
        if isinstance(item, str) and item.startswith(DISTRIBUTIONS):
            made = (each.methods.get("__init__") for each in order if not isinstance(each, str))
            unchecked = any(_UNCHECKED.search(function.text) for function in made if function is not None)
            checked = arguments.validates and not unchecked
            return item if checked else f"{UNCHECKED}{item.rpartition('.')[2]}"
    return None


def _undefined(it: Interpreter, frame: Frame, node: ast.Call, owner: Kind, name: str) -> Kind:
    """A method that a class inherits from outside the program, or an attribute of unknown kind."""
    arguments = evaluate_arguments(it, frame, node)
    if any(it.program.external_base(cls, "torch.nn.") for cls in owner.of):
        if name == "cpu":
            it.report(frame, "HP002", node)
        if name in MODULE_CHAINED:
            return owner
        if name in ("register_buffer", "register_parameter") and arguments.positional:
            text = arguments.positional[0]
            for cls in owner.of if text.tag == "text" and isinstance(text.of, str) else ():
                it.set_field(cls, text.of, TENSOR)
        return _take(it, frame, node, call_instance("torch.nn.Module", name, arguments))
    base = next(filter(None, (_distribution(it, cls, arguments) for cls in owner.of)), None)
    if base is not None:
        return _take(it, frame, node, call_instance(base, name, arguments))
    outcome = unknown_method(UNKNOWN, name, arguments)
    result = UNKNOWN if outcome is None else _take(it, frame, node, outcome)
    if outcome is None and not any(it.program.external_base(cls, "torch.") for cls in owner.of):
        it.not_followed(frame, node, "of something unknown")
    run_arguments(it, frame, node, arguments)
    if any(map(is_tensor, arguments.all())):
        frame.fenced = False
    return result


def evaluate_arguments(it: Interpreter, frame: Frame, node: ast.Call) -> Arguments:
    """Evaluate what a call passes, in order."""
    written = [argument.__class__ for argument in node.args]
    if ast.Starred in written:
        several: list[Kind] = []
        for argument in node.args:
            kind = it.evaluate(frame, argument)
            if not isinstance(argument, ast.Starred):
                several.append(kind)
            else:
                several += kind.of if kind.tag == "tup" else [element(kind)] * 2
        positional = tuple(several)
    else:
        positional = it.each(frame, node.args)
        if ast.Compare in written or ast.BoolOp in written:
            pairs = zip(node.args, positional, strict=True)
            positional = tuple([truth(it, frame, part, kind) for part, kind in pairs])
    keywords: dict[str, Kind] = {}
    for keyword in node.keywords:
        kind = it.evaluate(frame, keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = truth(it, frame, keyword.value, kind)
        elif kind.tag == "map":
            keywords.update(kind.more or {UNNAMED: kind.of})
    on_device = frame.on_device or it.on_device
    return Arguments(positional, keywords, node, 0, on_device, frame.uses, it.validates)


def _take(it: Interpreter, frame: Frame, node: ast.Call, outcome: Outcome) -> Kind:
    """Let what a call outside the program does come true."""
    if outcome.stall is not None:
        it.report(frame, outcome.stall, node)
    if outcome.after == "queued":
        frame.fenced = False
    elif outcome.after == "idle" or (outcome.after == "drained" and not frame.in_loop):
        frame.fenced = True
    if outcome.grown is not None and isinstance(node.func, ast.Attribute):
        keep(it, frame, node.func.value, outcome.grown)
    return outcome.kind


TABLES = Tables(EXPRESSIONS, STATEMENTS, call_kind)
"""How all of Python is gone through."""
