"""The detector of `introspection`: words by which a file looks at frames, code, closures or source text.

One word anywhere in the file is enough; it isn't asked what is done with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program import nodes
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis, Lifting
from codemods.program.scopes import ScopeTree, dotted
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, refuse

_WORDS = words("""
    StackSummary TracebackException __closure__ __code__ _current_frames _getframe _getframemodulename ag_code
    ag_frame co_cellvars co_code co_consts co_freevars co_name co_names co_qualname co_varnames cr_code
    cr_frame currentframe extract_stack extract_tb f_back f_builtins f_code f_globals f_locals f_trace
    findCaller get_referrers getargvalues getasyncgenlocals getclosurevars getcoroutinelocals getframeinfo
    getgeneratorlocals getinnerframes getouterframes getsource getsourcelines gi_code gi_frame setprofile
    settrace tb_frame
""")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.GeneratorExp, ast.Lambda)
# What makes a class, or the like, that says where the call stands.
_MAKERS = words("""
    Enum Flag IntEnum IntFlag NamedTuple NewType ParamSpec StrEnum TypeVar TypeVarTuple TypedDict
    make_dataclass namedtuple new_class type
""")
# Names that other modules use for something else.
_OF_MODULE = {"monitoring": "sys", "stack": "inspect", "trace": "inspect"}


def not_looked_at(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing in the file looks at functions from within, nor asks for names of what this helper makes."""
    tree = lifting.tree
    makes = helper.lazy or makes_definitions(helper)
    has_it = f"is read here, which what {helper.name} makes has too"
    moved = ("__module__",) if helper in lifting.foreign else ()
    for name in ("__qualname__", *moved) if makes else ():
        if name in tree.attributes or name in tree.names:
            line = tree.attributes.get(name) or tree.strings.get(name) or helper.node.lineno
            yield refuse(
                "introspection", line, f"{name} is read here, which what {helper.name} makes has too"
            )
    asked = tree.once("names asked", lambda: _name_asked(tree)) if helper.lazy else None
    if asked is not None:
        yield refuse("introspection", asked, f"__name__ {has_it}")
    yield from nothing_looks(lifting, helper)


def _name_asked(tree: ScopeTree) -> int | None:
    """The line at which the name is asked for of what is not written as a class: ``type(x).__name__``."""
    for node in nodes.walk(tree.source.tree) if "__name__" in tree.attributes else ():
        match node:
            case ast.Attribute(ast.Call(ast.Name("type")) | ast.Attribute(attr="__class__"), "__name__"):
                continue
            case ast.Attribute(attr="__name__"):
                return node.lineno
    return tree.strings.get("__name__")


def makes_definitions(helper: Helper) -> bool:
    """Whether a helper makes functions, classes or generators, or calls what may make some (`namedtuple`)."""
    return any(
        isinstance(node, _DEFINITIONS)
        or nodes.is_type_alias(node)
        or (isinstance(node, ast.Call) and nodes.called_name(node) in _MAKERS)
        for node in ast.walk(helper.node)
        if node is not helper.node
    )


def nothing_looks(within: Analysis | Lifting, helper: Helper) -> Refusals:
    """The file has none of the words."""
    for line, word in within.tree.once("introspection", lambda: list(_found(within.tree))):
        yield refuse("introspection", line, f"{word} is used here")


def _found(tree: ScopeTree) -> Iterator[tuple[int, str]]:
    for word in sorted(_WORDS & (tree.attributes.keys() | tree.strings.keys())):
        yield tree.attributes.get(word) or tree.strings[word], word
    for node in nodes.walk(tree.source.tree):
        match node:
            case ast.ImportFrom(module=str() as module, names=names):
                for alias in names:
                    if alias.name in _WORDS or _OF_MODULE.get(alias.name) == module or module == "dis":
                        yield node.lineno, f"{module}.{alias.name}"
            case ast.Attribute(attr=name, value=value):
                base = dotted(tree, tree.scope_of(node), value)
                if base is not None and (base == "dis" or _OF_MODULE.get(name) == base):
                    yield node.lineno, f"{base}.{name}"
