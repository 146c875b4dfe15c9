"""Effects of evaluating an expression, and the knowledge of its value."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterable
from enum import IntEnum

from codemods.program.source import words

# Modules of the standard library that do something that is seen when they are loaded.
LOUD = frozenset(
    ["__main__", "antigravity", "idlelib", "readline", "rlcompleter", "site", "this", "turtledemo"]
)
QUIET = sys.stdlib_module_names - LOUD
_KNOWN = QUIET | {"numpy", "torch", "typing_extensions"} | frozenset(dir(builtins))
# Modules whose functions and classes make values, and those of their names that do more. What is not
# listed may change something, read what others change, or call what it is given.
_MAKERS: dict[str, frozenset[str]] = {
    "abc": frozenset(),
    "collections": frozenset(),
    "collections.abc": frozenset(),
    "dataclasses": frozenset(["make_dataclass", "replace"]),
    "decimal": frozenset(["getcontext", "localcontext", "setcontext"]),
    "enum": frozenset(),
    "fractions": frozenset(),
    "functools": frozenset(["reduce"]),
    "itertools": frozenset(),
    "math": frozenset(),
    "operator": words("""
    call delitem setitem iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv
    ixor
    """),
    "re": frozenset(["purge", "sub", "subn"]),
    "string": frozenset(),
    "types": frozenset(["new_class", "prepare_class", "resolve_bases"]),
    "typing": frozenset(["get_type_hints"]),
    "typing_extensions": frozenset(["get_type_hints"]),
}
_SINGLE = words("""
    contextlib.AbstractAsyncContextManager contextlib.AbstractContextManager contextlib.ContextDecorator
    contextlib.asynccontextmanager contextlib.contextmanager contextlib.nullcontext contextlib.suppress
    pathlib.Path pathlib.PurePath pathlib.PurePosixPath pathlib.PureWindowsPath
""")
_BUILT = words("""
    bool bytes classmethod dict enumerate float frozenset int len list max min object property range round
    set sorted staticmethod str sum super tuple zip bytes.fromhex dict.fromkeys float.fromhex
    int.from_bytes str.maketrans
""")
# What else may be called, or decorate, without anything of the program being run.
HARMLESS = words("""
    logging.getLogger numpy.sqrt os.cpu_count os.path.join posixpath.join torch.compiler.disable
    torch.cuda.device_count torch.cuda.is_available torch.device torch.enable_grad torch.inference_mode
    torch.no_grad
""")


def makes(name: str) -> bool:
    """Does a call of it make a value of its arguments and nothing else?

    `name` is dotted from the module that has it; a builtin stands alone.
    """
    module, _, last = name.rpartition(".")
    if module in _MAKERS:
        return last not in _MAKERS[module]
    return name in _BUILT or name in _SINGLE


def is_known(name: str) -> bool:
    """Is a dotted name one of a module, or a builtin, that has nothing of the program?"""
    return name.partition(".")[0] in _KNOWN


class Effect(IntEnum):
    """The most that running a statement, or evaluating an expression, may do besides binding names."""

    NONE = 0
    RAISES = 1
    RUNS = 2


class Kind(IntEnum):
    """Knowledge of a value.

    What is ``PLAIN`` can be hashed, and all in it is of builtin classes. What is ``MADE`` holds nothing of
    the program. What is ``HELD`` is a container, a function or a class that may hold anything. Of what is
    ``UNKNOWN`` each operation may run code.
    """

    PLAIN = 1
    MADE = 2
    HELD = 3
    UNKNOWN = 4


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Meant = str | Definition | ast.expr | None
Meaning = Callable[[ast.expr], Meant]
"""Meaning of a name or a chain of attributes: the dotted name of something outside of the program (a
builtin stands alone), the one definition that binds it, the one expression that it is given, or None."""

Found = tuple[Effect, Kind]


class Expressions:
    """Answers for expressions; names that are ``local`` have no meaning that the caller knows."""

    def __init__(self, meaning: Meaning, local: frozenset[str] = frozenset()) -> None:
        self._meaning = meaning
        self.local = local

    def within(self, names: Iterable[str]) -> Expressions:
        """The same where some more names are bound to what is not known."""
        return Expressions(self._meaning, self.local.union(names))

    def meaning(self, node: ast.expr) -> Meant:
        """Return the meaning of an expression, if it is a chain of names."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.local:
            return None
        return self._meaning(node)

    def known(self, node: ast.expr) -> str:
        """The dotted name of what runs nothing of the program, whatever is done with it; else empty."""
        found = self.meaning(node)
        return found if isinstance(found, str) and is_known(found) else ""

    def effect(self, node: ast.expr | None) -> Effect:
        """The most that evaluating it may do."""
        return Effect.NONE if node is None else self.of(node)[0]

    def truth(self, node: ast.expr) -> Effect:
        """The most that evaluating it and asking whether it is true may do."""
        effect, kind = self.of(node)
        return Effect.RUNS if kind is Kind.UNKNOWN else effect

    def of(self, node: ast.expr) -> Found:
        """The most that evaluating it may do, and what is known of the value."""
        match node:
            case ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant(int() | float())):
                return Effect.NONE, Kind.PLAIN
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.Tuple(elements):
                return self._container(elements, Kind.PLAIN)
            case ast.List(elements):
                return self._container(elements, Kind.MADE)
            case ast.Set(elements):
                return self._hashed(elements, self._container(elements, Kind.MADE))
            case ast.Dict(keys, values) if None not in keys:
                given = [key for key in keys if key is not None]
                return self._hashed(given, self._container([*given, *values], Kind.MADE))
            case ast.Lambda(args):
                return _most(self.effect(each) for each in (*args.defaults, *args.kw_defaults)), Kind.HELD
            case ast.IfExp(test, body, orelse):
                (first, kind), (second, other) = self.of(body), self.of(orelse)
                return _most([self.truth(test), first, second]), max(kind, other)
            case ast.UnaryOp(ast.Not(), operand):
                return self.truth(operand), Kind.PLAIN
            case ast.UnaryOp(operand=operand):
                return self._operated([operand])
            case ast.BinOp(left, _, right):
                if self.is_type(node) and not isinstance(left, ast.Constant):
                    return Effect.RAISES, Kind.HELD
                return self._operated([left, right])
            case ast.Compare(left, ops, comparators):
                if all(isinstance(op, (ast.Is, ast.IsNot)) for op in ops):
                    return _most(map(self.effect, [left, *comparators])), Kind.PLAIN
                return self._operated([left, *comparators])
            case ast.Subscript(value, index):
                return (Effect.RAISES, Kind.HELD) if self.is_type(node) else self._operated([value, index])
            case ast.Call():
                return self._call(node)
        return Effect.RUNS, Kind.UNKNOWN

    def is_type(self, node: ast.expr) -> bool:
        """Tell whether it is a type of a module that is known, a class of the file, or such in brackets."""
        match node:
            case ast.Constant(value):
                return value is None or value is Ellipsis or isinstance(value, str)
            case ast.Name() | ast.Attribute():
                return bool(self.known(node)) or isinstance(self.meaning(node), ast.ClassDef)
            case ast.Subscript(value, index):
                return bool(self.known(value)) and self.is_type(index)
            case ast.BinOp(left, ast.BitOr(), right):
                return self.is_type(left) and self.is_type(right)
            case ast.Tuple(elements) | ast.List(elements):
                return all(map(self.is_type, elements))
        return False

    def decorates(self, node: ast.expr) -> Effect:
        """The most that a decorator may do, applied to what it stands above."""
        if isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            plain = all(self.of(each)[1] <= Kind.MADE for each in given)
            return self.decorates(node.func) if plain else Effect.RUNS
        name = self.known(node)
        return Effect.RAISES if makes(name) or name in HARMLESS else Effect.RUNS

    def _named(self, node: ast.Name | ast.Attribute) -> Found:
        found = self.meaning(node)
        if isinstance(found, str) and is_known(found):
            return Effect.RAISES, Kind.MADE
        if isinstance(node, ast.Attribute):
            return self._operated([node.value])
        plain = isinstance(found, Definition) and not found.decorator_list
        if isinstance(found, ast.ClassDef):
            plain = plain and not found.keywords and not found.bases
        return Effect.RAISES, Kind.HELD if plain else Kind.UNKNOWN

    def _container(self, elements: list[ast.expr], least: Kind) -> Found:
        found = [self.of(each) for each in elements]
        if any(isinstance(each, ast.Starred) for each in elements):
            return Effect.RUNS, Kind.UNKNOWN
        most = max([least, *(kind for _, kind in found)])
        return _most(effect for effect, _ in found), min(most, Kind.HELD)

    def _hashed(self, keys: list[ast.expr], made: Found) -> Found:
        most = max((self.of(key)[1] for key in keys), default=Kind.PLAIN)
        if most > Kind.MADE:
            return Effect.RUNS, Kind.UNKNOWN
        return max(made[0], Effect.RAISES) if most > Kind.PLAIN else made[0], made[1]

    def _operated(self, parts: Iterable[ast.expr]) -> Found:
        found = [self.of(part) for part in parts]
        if any(kind > Kind.MADE for _, kind in found):
            return Effect.RUNS, Kind.UNKNOWN
        return max(Effect.RAISES, *(effect for effect, _ in found)), Kind.MADE

    def _call(self, node: ast.Call) -> Found:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if any(isinstance(each, ast.Starred) for each in given) or any(k.arg is None for k in node.keywords):
            return Effect.RUNS, Kind.UNKNOWN
        found = [self.of(each) for each in given]
        effect = max(Effect.RAISES, *(effect for effect, _ in found), Effect.NONE)
        plain = all(kind <= Kind.MADE for _, kind in found)
        match node.func:
            case ast.Attribute(ast.Constant()) if plain:
                return effect, Kind.MADE
        name = self.known(node.func)
        if name == "dataclasses.field":
            # What a default is told of its name counts; the rest is only kept.
            defaults = [self.of(each.value)[1] for each in node.keywords if each.arg == "default"]
            return effect, Kind.HELD if all(kind <= Kind.MADE for kind in defaults) else Kind.UNKNOWN
        called = any(keyword.arg == "key" for keyword in node.keywords)
        if (makes(name) or name in HARMLESS) and plain and not called:
            return effect, Kind.MADE
        return Effect.RUNS, Kind.UNKNOWN


def _most(effects: Iterable[Effect]) -> Effect:
    return max(effects, default=Effect.NONE)
