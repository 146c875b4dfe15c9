"""How each sort of expression is evaluated, calls left aside."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from codemods.hotpath.branches import narrows
from codemods.hotpath.frame import Frame
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.iteration import item_of, iterator_of
from codemods.hotpath.kinds import (
    BOTTOM,
    CPU,
    EMPTY,
    HOST,
    MASK,
    TENSOR,
    UNKNOWN,
    Kind,
    as_set,
    element,
    holds_tensor,
    is_host,
    is_tensor,
    join,
    join_all,
    mapping,
    merged,
    one_module,
    put,
    seq,
    tup,
    under,
)
from codemods.hotpath.narrowing import narrowed
from codemods.hotpath.statements import assign, condition, elements_are_envs, loop
from codemods.hotpath.vocabulary import SETTINGS, VIEWS
from codemods.hotpath.waits import READS

EXPRESSIONS: dict[type[ast.expr], Callable[[Interpreter, Frame, Any], Kind]] = {}
"""How each sort of expression is evaluated; calls are added by `calls`."""


def expression(*types: type[ast.expr]) -> Callable[[Callable[..., Kind]], Callable[..., Kind]]:
    """Register how a sort of expression is evaluated."""

    def register(function: Callable[..., Kind]) -> Callable[..., Kind]:
        for type_ in types:
            EXPRESSIONS[type_] = function
        return function

    return register


HOST_ATTRIBUTES = frozenset(
    {
        "device",
        "dtype",
        "grad_fn",
        "is_cuda",
        "is_leaf",
        "is_sparse",
        "itemsize",
        "layout",
        "names",
        "ndim",
        "requires_grad",
        "shape",
    }
)
"""Attributes that a tensor knows without asking the device."""

SHOWN = ("__format__", "__str__", "__repr__")
"""Methods of an object that make text of it."""
_SAME = frozenset({"data", "grad", "T", "mT", "H", "real", "imag"})
_TEXTS = ({"text"}, {"text", "host"})
_LOGIC = (ast.BitAnd, ast.BitOr, ast.BitXor)


@expression(ast.Constant)
def _constant(it: Interpreter, frame: Frame, node: ast.Constant) -> Kind:
    return Kind("text", node.value) if isinstance(node.value, str) else HOST


@expression(ast.Name)
def _name(it: Interpreter, frame: Frame, node: ast.Name) -> Kind:
    return it.lookup(frame, node.id)


@expression(ast.Attribute)
def _attribute(it: Interpreter, frame: Frame, node: ast.Attribute) -> Kind:
    return attribute(it, frame, it.evaluate(frame, node.value), node.attr, node)


def attribute(it: Interpreter, frame: Frame, owner: Kind, name: str, node: ast.expr) -> Kind:
    """The kind of an attribute; a property is called."""
    if owner.tag == "obj":
        return _of_object(it, frame, owner, name, node)
    if owner.tag == "spread":
        return owner.of if name == "module" else attribute(it, frame, owner.of, name, node)
    if owner.tag == "cls":
        for cls in owner.of:
            method = it.program.method(cls, name)
            if method is not None:
                bound = owner if "classmethod" in method.decorators else None
                return Kind("fn", ((method, bound, None),))
        return it.field(owner.of[0], name)
    if owner.tag == "mod":
        member = it.program.member(owner.of, name)
        return UNKNOWN if member is None else it.definition_kind(member)
    if owner.tag == "ext":
        inner = it.program.module(f"{owner.of}.{name}")  # a folder without an __init__.py is no module
        return Kind("ext", f"{owner.of}.{name}") if inner is None else Kind("mod", inner)
    if owner.tag in ("tensor", "mask", "cpu"):
        if name in HOST_ATTRIBUTES:
            return HOST if name != "device" or owner.tag != "cpu" else Kind("device", "cpu")
        return (
            owner
            if name in ("data", "grad", "T", "mT", "H", "real", "imag", "loss", "logits", "last_hidden_state")
            else Kind("bound", (owner, name))
        )
    if owner.tag == "mods":
        return one_module(owner) if name not in dir(dict) else Kind("bound", (owner, name))
    if owner.tag in ("unknown", "bound") and _is_space(node):
        return HOST
    if owner.tag == "unknown":
        if name == "grad":
            return TENSOR
        if name in ("loss", "logits") and _is_output(node):
            return TENSOR
        if name in HOST_ATTRIBUTES:
            return Kind("device") if name == "device" else HOST
        return Kind("bound", (owner, name)) if name in READS else UNKNOWN
    if owner.tag in ("seq", "map", "tup", "inst", "stream", "event", "text"):
        if owner.tag == "inst" and owner.of.startswith("torch.nn.") and name in ("weight", "bias"):
            return TENSOR
        return Kind("bound", (owner, name))
    return HOST if owner.tag in ("host", "device") else UNKNOWN


def _of_object(it: Interpreter, frame: Frame, owner: Kind, name: str, node: ast.expr) -> Kind:
    result = BOTTOM
    for cls in owner.of:
        method = it.program.method(cls, name)
        this = Kind("obj", (cls,))
        if method is None:
            kind = it.field(cls, name)
            beside = frame.on_host and frame.cls is not None and it.program.external_base(cls, "torch.nn.")
            result = join(result, CPU if beside and is_tensor(kind) else kind)
        elif "property" in method.decorators or "cached_property" in method.decorators:
            result = join(result, it.call(frame, node, method, this))
        else:
            found = [method]
            if is_abstract(method.node):
                found = it.program.overrides(cls, name) or found
            for function in found:
                bound = this if function is method or function.cls is None else Kind("obj", (function.cls,))
                result = join(result, Kind("fn", ((function, bound, None),)))
    return result


def _is_space(node: ast.expr) -> bool:
    """Tell whether ``env.action_space.nvec`` is of a space of actions or observations: arrays and numbers."""
    owner = node.value if isinstance(node, ast.Attribute) else None
    return str(getattr(owner, "attr", None) or getattr(owner, "id", "")).endswith(
        ("action_space", "observation_space")
    )


def _is_output(node: ast.expr) -> bool:
    """Tell whether ``out.loss`` is of what a model gave, and no option of that name."""
    inner = node.func if isinstance(node, ast.Call) else node
    owner = inner.value if isinstance(inner, ast.Attribute) else None
    name = str(getattr(owner, "id", "")).lower()
    return name.startswith(("out", "result", "pred", "ret"))


def is_abstract(node: ast.AST) -> bool:
    """Tell whether a method does nothing, or only says that it is for others to do."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return False
    rest = [
        item
        for item in body
        if not isinstance(item, (ast.Pass, ast.Raise))
        and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
    ]
    return not rest


@expression(ast.Subscript)
def _subscript(it: Interpreter, frame: Frame, node: ast.Subscript) -> Kind:
    owner = it.evaluate(frame, node.value)
    index = it.evaluate(frame, node.slice)
    if is_tensor(owner) or owner.tag == "cpu":
        if _is_mask(node.slice, index):
            if is_tensor(owner):
                it.report(frame, "HP006", node)
            frame.fenced = False
        return owner
    if is_tensor(index) and owner.tag in ("seq", "tup", "map", "host", "text"):
        if owner.tag != "map":
            it.report(frame, "HP007", node)
        return element(owner)
    if owner.tag == "host" and index.tag == "tup" and any(map(is_tensor, index.of)):
        it.report(frame, "HP007", node)  # an array takes the numbers out of tensors among its indices
        return HOST
    if owner.tag == "tup":
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            at = node.slice.value
            return owner.of[at] if -len(owner.of) <= at < len(owner.of) else UNKNOWN
        if isinstance(node.slice, ast.Slice):
            return seq(element(owner))
        return element(owner)
    if owner.tag == "mods":
        return owner if isinstance(node.slice, ast.Slice) else one_module(owner)
    if owner.tag == "seq":
        return owner if isinstance(node.slice, ast.Slice) else element(owner)
    if owner.tag == "map":
        return under(owner, index)
    if owner.tag == "obj":
        for cls in owner.of:
            method = it.program.method(cls, "__getitem__")
            if method is not None:
                return it.call(frame, node, method, Kind("obj", (cls,)), (index,))
        return UNKNOWN
    if owner.tag == "cls":
        return owner
    if owner.tag == "inst" and owner.of.startswith("torch.nn."):
        return Kind("inst", "torch.nn.Module")
    if isinstance(node.slice, ast.Constant) and node.slice.value in SETTINGS:
        return HOST
    return HOST if is_host(owner) else UNKNOWN


def _is_mask(node: ast.expr, index: Kind) -> bool:
    """Tell whether an index is a boolean tensor, or one of several is; one that is called a mask is one."""
    if index.tag == "tup":
        parts = node.elts if isinstance(node, ast.Tuple) and len(node.elts) == len(index.of) else []
        return any(part.tag == "mask" for part in index.of) or any(map(_is_mask, parts, index.of))
    if index.tag not in ("tensor", "unknown"):
        return index.tag == "mask"
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS:
        node = node.func.value
    return str(getattr(node, "attr", None) or getattr(node, "id", "")).lower().endswith(("mask", "masks"))


@expression(ast.Slice)
def _slice(it: Interpreter, frame: Frame, node: ast.Slice) -> Kind:
    for part in (node.lower, node.upper, node.step):
        if part is not None and is_tensor(it.evaluate(frame, part)):
            it.report(frame, "HP007", part)
    return HOST


@expression(ast.BinOp)
def _binary(it: Interpreter, frame: Frame, node: ast.BinOp) -> Kind:
    left, right = it.evaluate(frame, node.left), it.evaluate(frame, node.right)
    if isinstance(node.op, ast.Mod) and (
        left.tag == "text" or (left.tag == "host" and right.tag in ("seq", "tup"))
    ):
        if holds_tensor(right):
            it.report(frame, "HP009", node)
        return HOST
    if {left.tag, right.tag} in _TEXTS and isinstance(node.op, (ast.Add, ast.Mult)):
        return Kind("text")
    if (is_tensor(left) or is_tensor(right)) and not (
        isinstance(node.op, ast.Mult) and {"seq", "tup", "text"} & {left.tag, right.tag}
    ):
        frame.fenced = False
        # Of two masks the product, and the sum, is one, too.
        both = left.tag == right.tag == "mask" and isinstance(node.op, (ast.Add, ast.Mult))
        logic = isinstance(node.op, _LOGIC) and "mask" in (left.tag, right.tag)
        return MASK if both or logic else TENSOR
    if isinstance(node.op, (ast.Add, ast.Mult)) and (
        left.tag in ("seq", "tup") or right.tag in ("seq", "tup")
    ):
        if isinstance(node.op, ast.Mult):
            if is_tensor(left) or is_tensor(right):
                it.report(frame, "HP007", node)
            return seq(element(left if left.tag in ("seq", "tup") else right))
        return tup((*left.of, *right.of)) if left.tag == right.tag == "tup" else join(left, right)
    if "cpu" in (left.tag, right.tag):
        return CPU
    if left.tag in ("text", "host", "device", "ext") and right.tag in ("text", "host", "device", "ext"):
        return HOST
    return HOST if is_host(left) and is_host(right) else UNKNOWN


@expression(ast.UnaryOp)
def _unary(it: Interpreter, frame: Frame, node: ast.UnaryOp) -> Kind:
    if isinstance(node.op, ast.Not):
        condition(it, frame, node.operand)
        return HOST
    kind = it.evaluate(frame, node.operand)
    if is_tensor(kind):
        frame.fenced = False
        return MASK if isinstance(node.op, ast.Invert) else kind
    return kind


@expression(ast.BoolOp)
def _bool_op(it: Interpreter, frame: Frame, node: ast.BoolOp) -> Kind:
    result = BOTTOM
    for value in node.values[:-1]:
        kind = it.evaluate(frame, value)
        if is_tensor(kind):
            it.report(frame, "HP008", value)
        result = join(result, kind)
    return join(result, it.evaluate(frame, node.values[-1]))


@expression(ast.Compare)
def _compare(it: Interpreter, frame: Frame, node: ast.Compare) -> Kind:
    left = it.evaluate(frame, node.left)
    kinds = [left, *it.each(frame, node.comparators)]
    if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
        return HOST
    if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
        if left.tag == "text":
            return HOST  # a tensor can't be asked for a text: it is a dictionary
        there = kinds[-1]
        compares = there.tag in ("seq", "tup") and not there.more
        if is_tensor(there) or (compares and (is_tensor(left) or is_tensor(element(there)))):
            it.report(frame, "HP008", node)
        return HOST
    if any(map(is_tensor, kinds)):
        frame.fenced = False
        if len(node.ops) > 1:
            it.report(frame, "HP008", node)  # `a < x < b` asks for the truth of `a < x`
        return MASK
    if any(kind.tag == "cpu" for kind in kinds):
        return CPU
    return HOST if all(kind.tag not in ("unknown", "bound", "inst") for kind in kinds) else UNKNOWN


@expression(ast.IfExp)
def _if_exp(it: Interpreter, frame: Frame, node: ast.IfExp) -> Kind:
    condition(it, frame, node.test)
    before = frame.env
    inside, outside = narrowed(it, frame, node.test) if narrows(node.test) else ({}, {})
    frame.env = {**before, **inside} if inside else before
    first = it.evaluate(frame, node.body)
    frame.env = {**before, **outside} if outside else before
    second = it.evaluate(frame, node.orelse)
    frame.env = before
    return join(first, second)


@expression(ast.NamedExpr)
def _walrus(it: Interpreter, frame: Frame, node: ast.NamedExpr) -> Kind:
    kind = it.evaluate(frame, node.value)
    assign(it, frame, node.target, kind)
    return kind


@expression(ast.Tuple)
def _tuple(it: Interpreter, frame: Frame, node: ast.Tuple) -> Kind:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return _spread(it, frame, node)
    return tup(it.each(frame, node.elts))


@expression(ast.List, ast.Set)
def _list(it: Interpreter, frame: Frame, node: ast.List | ast.Set) -> Kind:
    if isinstance(node, ast.Set):
        return as_set(_joined(it, frame, node.elts))
    return seq(_joined(it, frame, node.elts)) if node.elts else EMPTY


def _spread(it: Interpreter, frame: Frame, node: ast.Tuple) -> Kind:
    """A tuple with ``*rows`` in it, which may be any number of elements."""
    kinds = it.each(frame, node.elts)
    parts: list[Kind] = []
    open_end = False
    for item, kind in zip(node.elts, kinds, strict=True):
        if isinstance(item, ast.Starred):
            open_end = open_end or kind.tag != "tup"
            parts += kind.of if kind.tag == "tup" else [element(kind)]
        else:
            parts.append(kind)
    return seq(join_all(parts)) if open_end else tup(tuple(parts))


def _joined(it: Interpreter, frame: Frame, nodes: Sequence[ast.expr]) -> Kind:
    result = BOTTOM
    for node in nodes:
        kind = it.evaluate(frame, node)
        result = join(result, element(kind) if isinstance(node, ast.Starred) else kind)
    return result


@expression(ast.Dict)
def _dict(it: Interpreter, frame: Frame, node: ast.Dict) -> Kind:
    result = mapping(BOTTOM)
    for key, value in zip(node.keys, node.values, strict=True):
        kind = it.evaluate(frame, value)
        if key is None:
            result = merged(result, kind)
        else:
            result = put(result, kind, key=it.evaluate(frame, key)) or UNKNOWN
    return result


@expression(ast.ListComp, ast.SetComp, ast.GeneratorExp)
def _comprehension(
    it: Interpreter, frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp
) -> Kind:
    outer = frame.env
    frame.env = dict(outer)
    try:
        return (as_set if isinstance(node, ast.SetComp) else seq)(
            _clauses(it, frame, node.generators, node.elt)
        )
    finally:
        frame.env = outer


@expression(ast.DictComp)
def _dict_comp(it: Interpreter, frame: Frame, node: ast.DictComp) -> Kind:
    outer = frame.env
    frame.env = dict(outer)
    try:
        pair = _clauses(it, frame, node.generators, ast.Tuple([node.key, node.value], ast.Load()))
        # Of a pair that is nested too deep nothing is known.
        return mapping(pair.of[1] if pair.tag == "tup" else UNKNOWN)
    finally:
        frame.env = outer


def _clauses(it: Interpreter, frame: Frame, generators: list[ast.comprehension], result: ast.expr) -> Kind:
    """Evaluate what a comprehension gives, inside its loops."""
    if not generators:
        return it.evaluate(frame, result)
    first = generators[0]
    iterable = iterator_of(it, frame, first.iter, it.evaluate(frame, first.iter))
    item = element(iterable)
    per_env = it.written.over_envs(first) or elements_are_envs(it, frame, item)
    with loop(it, frame, first, per_env):
        assign(it, frame, first.target, item_of(it, frame, first.iter, iterable))
        for test in first.ifs:
            condition(it, frame, test)
        return _clauses(it, frame, generators[1:], result)


@expression(ast.JoinedStr)
def _joined_str(it: Interpreter, frame: Frame, node: ast.JoinedStr) -> Kind:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            kind = it.evaluate(frame, part.value)
            if holds_tensor(kind):
                it.report(frame, "HP009", part.value)
            it.call_special(frame, part.value, kind, SHOWN)
    return Kind("text")


@expression(ast.FormattedValue)
def _formatted(it: Interpreter, frame: Frame, node: ast.FormattedValue) -> Kind:
    it.evaluate(frame, node.value)
    return HOST


@expression(ast.Lambda)
def _lambda(it: Interpreter, frame: Frame, node: ast.Lambda) -> Kind:
    return Kind("fn", ((it.function(frame, node), None, frame),))


@expression(ast.Starred, ast.Await)
def _inner(it: Interpreter, frame: Frame, node: ast.Starred | ast.Await) -> Kind:
    return it.evaluate(frame, node.value)


@expression(ast.Yield)
def _yield(it: Interpreter, frame: Frame, node: ast.Yield) -> Kind:
    frame.yielded = join(frame.yielded, HOST if node.value is None else it.evaluate(frame, node.value))
    return UNKNOWN


@expression(ast.YieldFrom)
def _yield_from(it: Interpreter, frame: Frame, node: ast.YieldFrom) -> Kind:
    frame.yielded = join(frame.yielded, element(it.evaluate(frame, node.value)))
    return UNKNOWN
