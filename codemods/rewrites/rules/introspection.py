"""The detector of `introspection`: words by which a file looks at frames, code, closures or source text.

One word anywhere in the file is enough; it isn't asked what is done with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program import nodes
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis, Lifting
from codemods.program.qualnames import line_asking, made_by
from codemods.program.scopes import ScopeTree, dotted
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, example, refuse

_WORDS = words("""
    StackSummary TracebackException __closure__ __code__ _current_frames _getframe _getframemodulename ag_code
    ag_frame co_cellvars co_code co_consts co_freevars co_name co_names co_qualname co_varnames cr_code
    cr_frame currentframe extract_stack extract_tb f_back f_builtins f_code f_globals f_locals f_trace
    findCaller get_referrers getargvalues getasyncgenlocals getclosurevars getcoroutinelocals getframeinfo
    getgeneratorlocals getinnerframes getouterframes getsource getsourcelines gi_code gi_frame setprofile
    settrace tb_frame
""")
# Names that other modules use for something else.
_OF_MODULE = {"monitoring": "sys", "stack": "inspect", "trace": "inspect"}

example(
    "introspection",
    """
 import sys
 def caller():
-    return sys._getframe(1).f_code.co_name
+    return sys.version
 def outer():
     def h():
         return caller()
     return h()
""",
)


def not_looked_at(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing in the file looks at functions from within, nor asks for names of what this helper makes."""
    tree, made = lifting.tree, made_by(lifting.tree, helper)
    moved = ("__module__",) if helper in lifting.foreign else ()
    for name in ("__name__", "__qualname__", *moved):
        if (line := line_asking(tree, name, made)) is not None:
            what = f"{name} is read here, which what {helper.name} makes has too"
            yield refuse("introspection", line, what)
    yield from nothing_looks(lifting, helper)


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
