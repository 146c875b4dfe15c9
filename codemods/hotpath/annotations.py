"""Kinds of values by their annotations."""

from __future__ import annotations

import ast

from codemods.hotpath.kinds import (
    CPU,
    EVENT,
    HOST,
    STREAM,
    TENSOR,
    UNKNOWN,
    Kind,
    external_instance,
    join_all,
    mapping,
    seq,
    tup,
)
from codemods.hotpath.modules import Class, Module
from codemods.hotpath.program import Definition, Program, dotted_name

_HOST_NAMES = frozenset(
    {
        "bool",
        "bytes",
        "complex",
        "datetime",
        "float",
        "int",
        "None",
        "NDArray",
        "ndarray",
        "Path",
        "str",
        "timedelta",
    }
)
_SEQUENCES = frozenset(
    {
        "AsyncIterator",
        "Collection",
        "Deque",
        "deque",
        "FrozenSet",
        "frozenset",
        "Generator",
        "Iterable",
        "Iterator",
        "List",
        "list",
        "MutableSequence",
        "Sequence",
        "Set",
        "set",
    }
)
_MAPPINGS = frozenset(
    {"DefaultDict", "defaultdict", "Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "Counter"}
)
_WRAPPERS = frozenset(
    {"Annotated", "ClassVar", "Final", "InitVar", "Optional", "ReadOnly", "Required", "NotRequired"}
)
_TENSOR_NAMES = frozenset(
    {"Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "Buffer", "Parameter"}
)


def annotation_kind(
    node: ast.expr | None, module: Module, program: Program, cls: Class | None = None
) -> Kind:
    """The kind of a value that is annotated so; unknown where the annotation says nothing that matters."""
    if node is None:
        return UNKNOWN
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            try:
                return annotation_kind(ast.parse(node.value, mode="eval").body, module, program, cls)
            except (SyntaxError, ValueError):
                return UNKNOWN
        return HOST if node.value is None else UNKNOWN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _either([node.left, node.right], module, program, cls)
    if isinstance(node, ast.Subscript):
        return _generic(node, module, program, cls)
    dotted = dotted_name(node)
    return UNKNOWN if dotted is None else _named(dotted, module, program, cls)


def _either(nodes: list[ast.expr], module: Module, program: Program, cls: Class | None) -> Kind:
    return join_all(annotation_kind(node, module, program, cls) for node in nodes)


def _generic(node: ast.Subscript, module: Module, program: Program, cls: Class | None) -> Kind:
    name = (dotted_name(node.value) or "").rpartition(".")[2]
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name in _WRAPPERS:
        return annotation_kind(parts[0], module, program, cls)
    if name == "Union":
        return _either(parts, module, program, cls)
    if name == "Literal":
        return HOST
    if name in _SEQUENCES:
        return seq(annotation_kind(parts[0], module, program, cls))
    if name in _MAPPINGS:
        return HOST if name == "Counter" else mapping(annotation_kind(parts[-1], module, program, cls))
    if name in ("tuple", "Tuple"):
        if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
            return seq(annotation_kind(parts[0], module, program, cls))
        return tup(tuple(annotation_kind(part, module, program, cls) for part in parts))
    if name in ("type", "Type"):
        inner = annotation_kind(parts[0], module, program, cls)
        return Kind("cls", inner.of) if inner.tag == "obj" else UNKNOWN
    return annotation_kind(node.value, module, program, cls)


def _named(dotted: str, module: Module, program: Program, cls: Class | None) -> Kind:
    head, _, rest = dotted.partition(".")
    if dotted == "Self" and cls is not None:
        return Kind("obj", (cls,))
    found: Definition | None = program.member(module, head)
    if isinstance(found, Module) and rest:
        found = program.resolve(f"{found.name}.{rest}")
    elif isinstance(found, str) and rest:
        found = f"{found}.{rest}"
    if isinstance(found, Class):
        return Kind("obj", (found,))
    if isinstance(found, tuple):
        # A type alias at the level of its module.
        owner, name = found
        value = owner.values[name][1]
        if value is None or found in program.open_aliases:
            return UNKNOWN
        program.open_aliases.add(found)
        try:
            return _alias(value, owner, program)
        finally:
            program.open_aliases.discard(found)
    return external_kind(found if isinstance(found, str) else dotted)


def _alias(value: ast.expr, owner: Module, program: Program) -> Kind:
    if isinstance(value, (ast.Subscript, ast.BinOp)):
        return annotation_kind(value, owner, program)
    dotted = dotted_name(value)
    return external_kind(dotted) if dotted else UNKNOWN


def external_kind(dotted: str) -> Kind:
    """The kind of an instance of a class outside the program."""
    name = dotted.rpartition(".")[2]
    if name in _TENSOR_NAMES and not dotted.startswith(("numpy", "tensorflow", "jax")):
        return TENSOR
    if name in _HOST_NAMES or dotted.startswith("numpy."):
        return HOST
    if name in _SEQUENCES or name in ("tuple", "Tuple"):
        return seq(UNKNOWN)
    if name in _MAPPINGS:
        return HOST if name == "Counter" else mapping(UNKNOWN)
    if name == "Stream" and "." in dotted:
        return STREAM
    if name == "Event" and dotted.startswith("torch"):
        return EVENT
    if dotted in ("torch.device",):
        return Kind("device", None)
    if dotted.startswith("torch."):
        return HOST if name in ("dtype", "Size", "Generator") else Kind("inst", dotted)
    return external_instance(dotted) if name.endswith("DataLoader") else UNKNOWN


__all__ = ["CPU", "annotation_kind", "external_kind"]
