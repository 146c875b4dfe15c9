"""What a definition evaluates each time it is executed: defaults and decorators."""

from __future__ import annotations

import ast
import re

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import all_defaults, called, first_of
from codemods.program.scopes import dotted
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, example, refuse, rule

# Decorators that keep no state and do the same thing however often they are applied.
STATELESS_DECORATORS = words("""
    contextlib.asynccontextmanager contextlib.contextmanager torch.compiler.disable torch.enable_grad
    torch.inference_mode torch.jit.unused torch.no_grad
""")

# Attributes of modules that are the same unchangeable object whenever they are read.
_CONSTANTS = words("""
    math.e math.inf math.nan math.pi math.tau numpy.bool_ numpy.e numpy.float16 numpy.float32 numpy.float64
    numpy.inf numpy.int16 numpy.int32 numpy.int64 numpy.int8 numpy.nan numpy.newaxis numpy.pi numpy.uint8
    torch.bfloat16 torch.bool torch.channels_last torch.complex128 torch.complex64 torch.contiguous_format
    torch.double torch.float torch.float16 torch.float32 torch.float64 torch.half torch.inf torch.int
    torch.int16 torch.int32 torch.int64 torch.int8 torch.long torch.nan torch.pi torch.preserve_format
    torch.short torch.strided torch.uint8
    builtins.bool builtins.bytes builtins.complex builtins.dict builtins.float builtins.frozenset
    builtins.int builtins.list builtins.set builtins.str builtins.tuple
""")

rule(
    "decorated",
    "A decorator runs at every call of the outer function, after the lift once; it may cache, register or"
    " wrap.",
    "drop the decorator, or apply it in the outer function",
    """
-import functools
+import contextlib
 def outer(n):
-    @functools.lru_cache
+    @contextlib.contextmanager
     def h(x):
-        return x
-    return h(n)
+        yield x + n
+    with h(1) as got:
+        return got
""",
)
rule(
    "default-not-constant",
    "A default value is evaluated at every call of the outer function; after the lift once, and shared.",
    "use None as the default and make the value inside the helper",
    """
+import math
 def outer():
-    def h(x, acc=[]):
-        acc.append(x)
-        return list(acc)
+    def h(x, acc=(), scale=-1.5, limit=math.inf, kind=float):
+        return [*acc, kind(min(x * scale, limit))]
     h(1)
     return h(2)
""",
)
example(
    "not-understood",
    """
-def outer[T](x: T):
+from typing import TypeVar
+T = TypeVar('T')
+def outer(x):
     def h(y):
         return T, y
     return h(x)
""",
)
example(
    "introspection",
    '''
 def outer(n):
     def h(x):
-        """
-        >>> 1 + 1
-        3
-        """
+        """One more than x."""
         return x + n
     return h(1)
''',
)


def is_constant(node: ast.expr) -> bool:
    """Whether an expression makes the same immutable value whenever it is evaluated."""
    match node:
        case ast.UnaryOp(ast.USub() | ast.UAdd(), ast.Constant(value)):
            return isinstance(value, (int, float, complex))
        case ast.Tuple(elements):
            return all(map(is_constant, elements))
    return isinstance(node, ast.Constant)


def defaults_constant(lifting: Lifting, helper: Helper) -> Refusals:
    """Defaults are immutable literals, or known constants of modules."""
    for default in all_defaults(helper.node.args):
        if not is_constant(default) and not _is_known(lifting, helper, default, _CONSTANTS):
            yield refuse(
                "default-not-constant",
                default,
                f"a default value of {helper.name} is evaluated at every definition",
            )


def _is_known(lifting: Lifting, helper: Helper, node: ast.expr, known: frozenset[str]) -> bool:
    """Whether an expression is something known of a builtin or imported module."""
    path = dotted(lifting.tree, helper.outer, node)
    if path not in known:
        return False
    base = first_of(node)
    return path.startswith("builtins.") or (
        isinstance(base, ast.Name) and bound_early(lifting, helper, base.id)
    )


def decorators_stateless(lifting: Lifting, helper: Helper) -> Refusals:
    """Decorators are known ones, imported by the module before the outer function."""
    for decorator in helper.node.decorator_list:
        if isinstance(decorator, ast.Call):
            given = (*decorator.args, *(keyword.value for keyword in decorator.keywords))
            if not all(map(is_constant, given)):
                what = f"a decorator of {helper.name} takes more than constants"
                yield refuse("decorated", decorator, what)
        if not _is_known(lifting, helper, called(decorator), STATELESS_DECORATORS):
            yield refuse("decorated", decorator, f"{helper.name} is decorated here")


def bound_early(lifting: Lifting, helper: Helper, name: str) -> bool:
    """Whether a name is a global that is bound when the statement of the outermost function is reached."""
    module = lifting.tree.module
    if lifting.tree.owner(helper.outer, name) is not module or (module, name) not in lifting.tree.binders:
        return False
    flow = lifting.analysis.flow(module)
    root = helper.top
    return flow.knows(root) and flow.bound_at(root, name)


def no_type_params(lifting: Lifting, helper: Helper) -> Refusals:
    """No type parameters that the helper has or names, no variable that is read when a type is evaluated."""
    text = set(re.findall(r"\w+", lifting.tree.source.segment(helper.node)))
    for scope in helper.scope.ancestors():
        if scope.has_type_params and (scope is helper.scope or scope.types is None):
            yield refuse(
                "not-understood",
                scope.node,
                f"{scope.name} has type parameters",
                "use a TypeVar of the module",
            )
        for name in sorted(text & (scope.types.names.keys() if scope.types is not None else set())):
            yield refuse(
                "not-understood",
                helper.node,
                f"{helper.name} names {name}, a type parameter of {scope.name}",
                "use a TypeVar of the module",
            )
    for use in lifting.tree.lazy:
        if use.scope.inside(helper.root):
            reason = f"{use.node.id} is read whenever a type is evaluated"
            yield refuse("not-understood", use.node, reason, "use a TypeVar of the module")


def no_doctest(lifting: Lifting, helper: Helper) -> Refusals:
    """The docstring has no examples to be run."""
    if ">>>" in (ast.get_docstring(helper.node, clean=False) or ""):
        yield refuse("introspection", helper.node, f"the docstring of {helper.name} has doctest examples")
