"""Values of a module's constants: which are made the same, and do nothing, wherever their file is loaded."""

from __future__ import annotations

import ast
import re

from codemods.program.scopes import ScopeTree, dotted
from codemods.program.words import words
from codemods.rewrites.rules.definition import is_constant

# Calls that give the same number each time for a number that is not negative, and do nothing else.
_NUMBERS = words("""
    builtins.float builtins.int math.radians math.sqrt numpy.sqrt
""")
_ENDLESS = frozenset(["inf", "-inf", "nan"])
# Of larger ones numpy makes objects, and others may overflow.
_LARGEST = 2**63
_FEW = 8
# What makes a path of texts, and does not look for it.
_PATHS = frozenset(["pathlib.Path", "pathlib.PurePath", "os.path.join", "posixpath.join"])
_DEVICE = re.compile(r"(cpu|cuda|mps)(:\d+)?")
# What asks for something that only what is done in between could change.
_ASKED = words("""
    logging.getLogger os.cpu_count torch.cuda.device_count torch.cuda.is_available torch.device
""")
# Of what these give with types in brackets, nothing is asked but to stand in annotations.
_GENERIC = words("""
    builtins.dict builtins.frozenset builtins.list builtins.set builtins.tuple builtins.type typing.Callable
    typing.Dict typing.FrozenSet typing.Iterable typing.Iterator typing.List typing.Mapping typing.Optional
    typing.Sequence typing.Set typing.Tuple typing.Type typing.Union
""")


def is_made(tree: ScopeTree, node: ast.AST) -> bool:
    """Whether a call surely gives one unchangeable value of the literals that it is given."""
    match node:
        case ast.Call(args=[ast.Constant(int() | float() as number)], keywords=[]):
            return _path(tree, node) in _NUMBERS and number < _LARGEST
        case ast.Call(args=[ast.Constant(str() as text)], keywords=[]) if text in _ENDLESS:
            return _path(tree, node) in (*_PATHS, "builtins.float")
        case ast.Call(args=[_, *_] as given, keywords=[]) if all(map(_is_text, given)):
            return _path(tree, node) in _PATHS
    return False


def is_value(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether an expression of the top level makes a value that never changes, and can't fail to."""
    match node:
        case ast.Tuple(elements):
            return all(is_value(tree, element) for element in elements)
        case ast.Subscript():
            return _is_type(tree, node)
        case ast.BinOp():
            return _is_sum(node)
    return is_constant(node) or is_made(tree, node)


def _is_sum(node: ast.expr) -> bool:
    """Whether an expression only adds, subtracts and multiplies a few numbers."""
    parts = list(ast.walk(node))
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    numbers = [value for value in values if isinstance(value, (int, float)) and value < _LARGEST]
    kinds = (ast.BinOp, ast.Constant, ast.Add, ast.Sub, ast.Mult)
    return len(numbers) == len(values) <= _FEW and all(isinstance(part, kinds) for part in parts)


def is_asked(tree: ScopeTree, node: ast.AST) -> bool:
    """Whether an expression asks for a logger by its name, or for a device."""
    match node:
        case ast.IfExp(test, body, orelse):
            return all(
                isinstance(part, ast.Constant) or is_asked(tree, part) for part in (test, body, orelse)
            )
        case ast.Call(args=given, keywords=[]):
            path = _path(tree, node)
            if path == "torch.device":
                return len(given) == 1 and _is_device(tree, given[0])
            return (
                path in _ASKED and all(map(_is_text, given)) and len(given) <= (path == "logging.getLogger")
            )
    return False


def _path(tree: ScopeTree, node: ast.Call) -> str | None:
    return dotted(tree, tree.scope_of(node), node.func)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_device(tree: ScopeTree, node: ast.expr) -> bool:
    match node:
        case ast.Constant(str() as text):
            return _DEVICE.fullmatch(text) is not None
        case ast.IfExp(test, body, orelse):
            return is_asked(tree, test) and _is_device(tree, body) and _is_device(tree, orelse)
    return False


def _is_type(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether an expression is a type of the standard library, or torch's, with others in brackets."""
    match node:
        case ast.Subscript(value, of):
            return dotted(tree, tree.scope_of(node), value) in _GENERIC and _is_type(tree, of)
        case ast.Tuple(elements) | ast.List(elements):
            return all(_is_type(tree, element) for element in elements)
        case ast.Constant(value):
            return value is None or value is Ellipsis
        case ast.Name() | ast.Attribute():
            path = dotted(tree, tree.scope_of(node), node) or ""
            return path.startswith(("builtins.", "typing.")) or path in ("torch.Tensor", "numpy.ndarray")
    return False
