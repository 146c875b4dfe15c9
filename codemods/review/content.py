"""Instructions and names of a unit, worked out once for all units that say the same."""

from __future__ import annotations

import ast
import dis
import inspect
import re
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from codemods.program.globals import is_type_checking
from codemods.program.nodes import DEFINITIONS, children, walk
from codemods.program.patches import Replacing
from codemods.program.source import blocks_of, statements_in
from codemods.review.lines import UNKNOWN
from codemods.review.normal import written
from codemods.review.parsing import Trees

Function = ast.FunctionDef | ast.AsyncFunctionDef
Chains = Mapping[str, frozenset[tuple[str, ...]]]
# By operation: its ending, and how many bits of its argument say something else than the name.
_ENDINGS = {
    number: (ending, 1 if name == "LOAD_GLOBAL" else 0)
    for name, number in dis.opmap.items()
    for ending in ("_GLOBAL", "_NAME")
    if name.replace("_GLOBALS", "_GLOBAL").endswith(ending)
}
_BINDS = frozenset(dis.opmap[name] for name in ("STORE_NAME", "DELETE_NAME"))
_LOOKS_UP = re.compile(b"[" + b"".join(re.escape(bytes([number])) for number in _ENDINGS) + b"]", re.DOTALL)
# Parts of a value that is the same wherever it is said.
_PLAIN = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.Load)
_SCOPED = (*DEFINITIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)
# What expressions with a scope of their own are called.
_EXPRESSIONS = frozenset(["<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"])
_SPECIAL = re.compile("__[^_].*__")
_NUMBERS = (int, float, complex, bool, bytes)
_NAMES = re.compile(r"(?:id|name|module|level)=(?:'[^']*'|\d+)(?:, )?")
_WORD = re.compile(r"\w+")
# What follows a name that is a word of its own.
_CHAIN = re.compile(r"(?!\w)((?:\s*\.\s*\w+)*)([\s)\\]*[.#])?")
_DECLARES = re.compile(r"\bglobal\b")


# What the compiler made of a function where it stands, and the function.
Compiled = tuple[types.CodeType, Function]


class Content:
    """The statements of a unit, without comments, annotations and docstrings.

    `text` is how they stand in a file, where that is known: all that is in it is in there, and more.
    """

    def __init__(
        self,
        make: Callable[[], ast.Module],
        kind: str,
        own: str | None,
        owner: str | None = None,
        class_names: frozenset[str] = frozenset(),
        text: str | None = None,
        compiled: Callable[[], Compiled | None] = lambda: None,
    ) -> None:
        self._make, self._compiled, self.text_in_file = make, compiled, text
        self.kind, self.own, self.owner, self.class_names = kind, own, owner, class_names

    @cached_property
    def node(self) -> ast.Module:
        """It as a module of its own."""
        return self._make()

    def may_hold(self, names: Collection[str]) -> list[str] | None:
        """Those of some names that may be in it; None if that can't be told from its text."""
        text = self.text_in_file
        if text is None or not text.isascii():
            return None
        return [name for name in names if name in text and name in self._words]

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.text_in_file or ""))

    def may_read_of(self, name: str) -> frozenset[tuple[str, ...]] | None:
        """Chains of attributes that it may read from a name; None if that can't be told."""
        return may_read_of(name, self.text_in_file or "")

    @cached_property
    def _read(self) -> _Names:
        told = self._told
        if told is None or (self.owner is not None and any(map(_is_private, told.outside))):
            return _names(compile(self.node, "<unit>", "exec", dont_inherit=True))
        named = told.outside
        if self.owner is not None:
            named |= _OF_A_CLASS | {self.owner, *(["__classcell__"] if told.of_class else [])}
        return _Names(told.inside.globally, told.inside.by_name | named, told.inside.local)

    @cached_property
    def _told(self) -> _Told | None:
        """Code of a function's file; None if that has annotations, which are not compared."""
        compiled = self._compiled() if self.kind in ("function", "method") else None
        if compiled is None:
            return None
        code, node = compiled
        outside = _evaluated(
            [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        )
        if outside is None:
            return None
        if any(each.co_name not in _EXPRESSIONS for each in functions_of(code)):
            inner = (
                each for each in statements_in(node) if isinstance(each, DEFINITIONS) and each is not node
            )
            if any(map(_is_annotated, inner)):
                return None
        # The compiler knows what `__debug__` is.
        bound = (outside | {node.name}) - {"__debug__"}
        return _Told(_names(code), bound, "__class__" in code.co_freevars)

    @cached_property
    def free(self) -> frozenset[str]:
        """Names that it reads from its module and nowhere else."""
        return (self._read.globally | (self._read.by_name - self.class_names)) - self._read.local

    @cached_property
    def globals(self) -> tuple[str, ...]:
        """Names that it reads from its module, in the order of the text, its own left out."""
        free = self.free - {self.own} if self.kind in ("function", "class") else self.free
        names = [node.id for node in walk(self.node) if isinstance(node, ast.Name)]
        # Private names of a class, as they are in the instructions.
        other = sorted(name for name in free.difference(names) if name.startswith("_") and _is_private(name))
        return (*dict.fromkeys(name for name in names if name in free), *other)

    @cached_property
    def reads(self) -> frozenset[str]:
        """Those of `globals`, in no order."""
        found = self._reads_of_code()
        return frozenset(self.globals) if found is None else found

    def _reads_of_code(self) -> frozenset[str] | None:
        """The same without compiling it once more; None where a name may be another one than in the text."""
        text = self.text_in_file
        if text is None or not text.isascii() or _DECLARES.search(text):
            return None
        free = self._of_class() if self.kind == "class" else self._of_function()
        return None if free is None or any(map(_is_private, free)) else frozenset(free - {self.own})

    def _of_function(self) -> frozenset[str] | None:
        told = self._told
        if told is None or told.inside.by_name:
            return None
        return (told.inside.globally | (told.outside - self.class_names)) - told.inside.local

    def _of_class(self) -> frozenset[str] | None:
        """Of a class whose methods stand as names only: what it names, unless it has scopes of its own."""
        [node] = self.node.body
        assert isinstance(node, ast.ClassDef)
        if getattr(node, "type_params", ()):
            return None
        read = _evaluated([*node.decorator_list, *node.bases, *node.keywords, *node.body])
        return None if read is None else read - self.class_names

    @cached_property
    def noted(self) -> frozenset[str]:
        """Names that stand in annotations of fields and nowhere else."""
        notes = [node.annotation for node in walk(self.node) if isinstance(node, ast.AnnAssign)]
        if not notes:
            return frozenset()
        inside = [inner.id for note in notes for inner in walk(note) if isinstance(inner, ast.Name)]
        every = Counter(node.id for node in walk(self.node) if isinstance(node, ast.Name))
        return frozenset(name for name, count in Counter(inside).items() if every[name] == count)

    @cached_property
    def has_fields(self) -> bool:
        """Does a class in it have annotations, which are values or texts as its file says?"""
        plain = self.text_in_file is not None and ":" not in self.text_in_file
        return not plain and any(isinstance(node, ast.AnnAssign) for node in walk(self.node))

    @cached_property
    def mixed(self) -> frozenset[str]:
        """Names that are the module's in one of its scopes, and a local one or its class's in another."""
        read = self._read
        mixed = (read.globally & read.local) | (read.by_name & (read.local | self.class_names))
        if self.kind == "method" and mixed:
            # Its own definition binds its name and reads nothing.
            [shell] = self.node.body
            said = {node.id for node in walk(shell) if isinstance(node, ast.Name)}
            mixed -= {each.name for each in children(shell) if isinstance(each, Function)} - said
        return frozenset(mixed)

    @cached_property
    def imports(self) -> tuple[ast.Import | ast.ImportFrom, ...]:
        """The imports in it."""
        if self.may_hold(["import"]) == []:
            return ()
        return tuple(imports_in([self.node]))

    @cached_property
    def attributes(self) -> Chains:
        """Chains of attributes that it reads from names."""
        return attributes_in(self.node)

    @cached_property
    def constant(self) -> str | None:
        """The values of a binding, where each is a number, a text, or a tuple or sum of such."""
        if self.kind != "binding":
            return None
        body = self.node.body
        if not all(isinstance(each, ast.Assign) and _is_literal(each) for each in body):
            return None
        return repr([written(each.value) for each in body if isinstance(each, ast.Assign)])

    @cached_property
    def text(self) -> str:
        """Everything that it does, with its names as they are."""
        return written(self.node)

    @property
    def code(self) -> types.CodeType | None:
        """Code of a function where it stands, with its annotations."""
        compiled = self._compiled() if self.kind in ("function", "method") else None
        return compiled[0] if compiled is not None else None

    @cached_property
    def mark(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """A cheap property of a function: equal keys, equal marks. None if there is nothing."""
        code = self.code
        if code is None:
            return None
        # Docstrings are constants, too, and what annotations of functions inside say.
        inside = any(not each.co_name.startswith("<") for each in functions_of(code))
        plain = (each for each in code.co_consts if type(each) in _NUMBERS and not inside)
        return code.co_varnames, tuple(sorted(map(repr, filter(None, plain))))

    @cached_property
    def shape(self) -> str:
        """Its text without all names: equal keys, equal shapes."""
        return _NAMES.sub("", self.text)

    @cached_property
    def key(self) -> str:
        """Its instructions, names of its own and its module as numbers: equal keys, equal instructions."""
        slots = {name: f"<{number}>" for number, name in enumerate(self.globals)}
        if self.kind in ("function", "class") and self.own in self.free:
            slots[self.own or ""] = "<own>"
        parts: list[str] = []
        _write(self.node, slots, self.own, parts)
        mangled = self.owner is not None and "__" in self.text
        return "".join([*parts, *sorted(self.mixed), self.owner if mangled and self.owner else ""])


class Contents:
    """Contents by what they say."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Content] = {}
        self.trees = Trees()
        # What statements read, by their texts and whether annotations are texts, too.
        self.read: dict[tuple[str, bool], tuple[str, ...]] = {}
        # Statements that compile, by their texts and the future imports of the file.
        self.compiled: set[tuple[str, tuple[str, ...]]] = set()
        # What functions and classes at the top of a file were compiled to, by their texts.
        self.codes: dict[str, types.CodeType] = {}
        # Statements in the form in which they are compared, by their texts.
        self.written: dict[str, str] = {}
        # What files replace, by path and content.
        self.replacing: dict[tuple[str, str], Replacing | None] = {}

    def of(
        self,
        make: Callable[[], ast.Module],
        kind: str,
        name: str,
        texts: tuple[str, ...],
        owner: str | None = None,
        class_names: frozenset[str] = frozenset(),
        compiled: Callable[[], Compiled | None] = lambda: None,
    ) -> Content:
        """The content of a unit of that name whose parts stand in its file as `texts`."""
        key = (kind, name, owner, class_names, texts)
        if key not in self._known:
            own = None if kind == "method" else name
            text = "\n".join(texts)
            known = None if UNKNOWN in text else text
            self._known[key] = Content(make, kind, own, owner, class_names, known, compiled)
        return self._known[key]


@dataclass(frozen=True, slots=True)
class _Names:
    """Names that functions look up in their module, those that a module or class looks up, and local ones."""

    globally: frozenset[str]
    by_name: frozenset[str]
    local: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Told:
    """Names in a function's instructions, names that making it reads or binds; does it ask for its class?"""

    inside: _Names
    outside: frozenset[str]
    of_class: bool


def may_read_of(name: str, text: str) -> frozenset[tuple[str, ...]] | None:
    """Chains of attributes that a text may read from a name; None if that can't be told."""
    found = set[tuple[str, ...]]()
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        part = None if at and _WORD.match(text, at - 1) else _CHAIN.match(text, end)
        if part is not None:
            if part[2]:
                # In brackets, over a comment or the end of a line there may be more of it.
                return None
            found.add(tuple(_WORD.findall(part[1])))
            end = part.end()
        at = text.find(name, end)
    return frozenset(found)


def functions_of(code: types.CodeType) -> list[types.CodeType]:
    """Yield the codes of which a code makes functions and classes."""
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def _is_annotated(node: ast.AST) -> bool:
    """Does a function inside another one read more names than in its body? Of a class it is not looked at."""
    if not isinstance(node, Function):
        return True
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
    annotated = node.returns is not None or any(each.annotation is not None for each in every)
    return annotated or bool(getattr(node, "type_params", ()))


def _evaluated(nodes: Iterable[ast.AST]) -> frozenset[str] | None:
    """Names that some nodes read or bind; None if they hold scopes of their own."""
    inside = [inner for node in nodes for inner in walk(node)]
    if any(isinstance(inner, _SCOPED) for inner in inside):
        return None
    return frozenset(inner.id for inner in inside if isinstance(inner, ast.Name))


def _names(code: types.CodeType, inside: bool = False) -> _Names:
    """`inside` a function: what a class body only binds there is no name of the module."""
    found = {"_GLOBAL": set[str](), "_NAME": set[str]()}
    for ending, name in looked_up(code, binds=not inside):
        found[ending].add(name)
    inside = inside or bool(code.co_flags & inspect.CO_OPTIMIZED)
    made = [_names(inner, inside) for inner in functions_of(code)]
    return _Names(
        frozenset(found["_GLOBAL"]).union(*(inner.globally for inner in made)),
        frozenset(found["_NAME"]).union(*(inner.by_name for inner in made)),
        frozenset((*code.co_varnames, *code.co_cellvars, *code.co_freevars)).union(*(n.local for n in made)),
    )


def _is_private(name: str) -> bool:
    """May it be another name in the instructions than in the text?"""
    return "__" in name and not _SPECIAL.fullmatch(name)


def looked_up(code: types.CodeType, *, binds: bool = True) -> Iterator[tuple[str, str]]:
    """The names that the instructions `..._GLOBAL` and `..._NAME` of a code have, each with that ending.

    Those that it stores or deletes by name are among them only if `binds`.
    """
    raw = code.co_code
    operations = raw[::2]
    for found in _LOOKS_UP.finditer(operations):
        at = found.start()
        if not binds and operations[at] in _BINDS:
            continue
        index, shift = raw[2 * at + 1], 8
        while at and operations[at - 1] == dis.EXTENDED_ARG:
            at -= 1
            index |= raw[2 * at + 1] << shift
            shift += 8
        ending, shared = _ENDINGS[operations[found.start()]]
        yield ending, code.co_names[index >> shared]


# Names that every class reads or binds.
_OF_A_CLASS = _names(compile("class _: pass", "<unit>", "exec", dont_inherit=True)).by_name - {"_"}


def _write(node: object, slots: dict[str, str], own: str | None, parts: list[str]) -> None:
    if isinstance(node, ast.Name):
        parts.append(f"Name({slots.get(node.id, repr(node.id))},{type(node.ctx).__name__})")
    elif isinstance(node, ast.ImportFrom):
        # Where from is not said by the text alone: a relative import depends on the file.
        parts.append(f"from({[(alias.name, alias.asname) for alias in node.names]})")
    elif isinstance(node, ast.AST):
        parts.append(type(node).__name__ + "(")
        for name, value in ast.iter_fields(node):
            if name == "name" and value == own and isinstance(node, Function | ast.ClassDef):
                parts.append("own")
                own = None
            else:
                _write(value, slots, own, parts)
            parts.append(",")
        parts.append(")")
    elif isinstance(node, list):
        parts.append("[")
        for item in node:
            _write(item, slots, own, parts)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(f"{type(node).__name__}:{node!r}")


def _is_literal(node: ast.Assign) -> bool:
    named = all(isinstance(target, ast.Name) for target in node.targets)
    return named and all(isinstance(part, _PLAIN) for part in walk(node.value))


def imports_in(
    nodes: Iterable[ast.AST], *, inside_functions: bool = True, for_types: bool = True
) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports at any depth of some statements; without those in functions, or for type checkers alone."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif inside_functions or not isinstance(node, DEFINITIONS[:2]):
            blocks: Iterable[Iterable[ast.AST]] = blocks_of(node)
            if not for_types and isinstance(node, ast.If) and is_type_checking(node.test):
                blocks = [node.orelse]
            for block in blocks:
                yield from imports_in(block, inside_functions=inside_functions, for_types=for_types)


def attributes_in(node: ast.AST) -> Chains:
    """Chains of attributes that are read from names, by name."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for inner in walk(node):
        if not isinstance(inner, ast.Attribute):
            continue
        chain: list[str] = []
        here: ast.AST = inner
        while isinstance(here, ast.Attribute):
            chain.append(here.attr)
            here = here.value
        if isinstance(here, ast.Name):
            found.setdefault(here.id, set()).add(tuple(reversed(chain)))
    return {name: frozenset(chains) for name, chains in found.items()}
