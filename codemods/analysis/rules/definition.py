"""What a definition evaluates each time it is executed: defaults, decorators, annotations."""

from __future__ import annotations

import ast

from codemods.analysis.helpers import Helper
from codemods.analysis.lifting import Lifting
from codemods.analysis.names import dotted
from codemods.analysis.refusals import Refusal, refuse, rule
from codemods.analysis.scopes import ScopeTree
from codemods.analysis.walk import all_arguments

# Decorators that keep no state and do the same thing however often they are applied.
STATELESS_DECORATORS = frozenset(
    """
    contextlib.asynccontextmanager contextlib.contextmanager torch.compiler.disable torch.enable_grad
    torch.inference_mode torch.jit.unused torch.no_grad
    """.split()  # noqa: SIM905 (a word list reads better than forty quoted lines)
)
_KNOWN_TYPES = frozenset(
    """
    datetime.date datetime.datetime datetime.timedelta numpy.dtype numpy.ndarray numpy.random.Generator
    pathlib.Path torch.Generator torch.Tensor torch.device torch.dtype torch.nn.Module torch.nn.Parameter
    torch.optim.Optimizer
    """.split()  # noqa: SIM905 (a word list reads better than fourteen quoted lines)
)
_PLAIN_GENERICS = frozenset(["dict", "frozenset", "list", "set", "tuple", "type"])

rule(
    "decorated",
    "A decorator runs at every call of the outer function, after the lift once; it may cache, register or"
    " wrap.",
    "drop the decorator, or apply it in the outer function",
    refused="""
import functools
def outer(n):
    @functools.lru_cache
    def h(x):
        return x
    return h(n)
""",
    lifted="""
import contextlib
def outer(n):
    @contextlib.contextmanager
    def h(x):
        yield x + n
    with h(1) as got:
        return got
""",
)
rule(
    "default-not-constant",
    "A default value is evaluated at every call of the outer function; after the lift once, and shared.",
    "use None as the default and make the value inside the helper",
    refused="""
def outer():
    def h(x, acc=[]):
        acc.append(x)
        return list(acc)
    h(1)
    return h(2)
""",
    lifted="""
def outer():
    def h(x, acc=(), scale=-1.5):
        return [*acc, x * scale]
    h(1)
    return h(2)
""",
)
rule(
    "annotation-evaluated",
    "Without the future import, annotations are evaluated where the function is defined; at module level "
    "that may fail, "
    "or mean something else.",
    "add `from __future__ import annotations` to the file",
    refused="""
def outer():
    class C:
        pass
    def h(x: C):
        return x
    return h(1)
""",
    lifted="""
from collections.abc import Sequence
def outer():
    def h(x: int | None, y: Sequence[int] = ()) -> 'C':
        return x
    return h(1)
""",
)
rule(
    "type-param",
    "The helper or a function around it has type parameters, which belong to it, or a type alias or "
    "a bound near it reads a variable, which is done when it is asked for and not before.",
    "use a TypeVar of the module",
    refused="""
def outer[T](x: T):
    def h(y):
        return T, y
    return h(x)
""",
    lifted="""
from typing import TypeVar
T = TypeVar('T')
def outer(x):
    def h(y):
        return T, y
    return h(x)
""",
)
rule(
    "doctest",
    "The helper's docstring has examples (>>>), which doctest would collect once it is at module level.",
    "write the examples without >>>",
    refused='''
def outer(n):
    def h(x):
        """
        >>> 1 + 1
        3
        """
        return x + n
    return h(1)
''',
    lifted='''
def outer(n):
    def h(x):
        """One more than x."""
        return x + n
    return h(1)
''',
)


def is_constant(node: ast.expr) -> bool:
    """Whether an expression makes the same immutable value whenever it is evaluated."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return isinstance(node.operand, ast.Constant) and isinstance(
            node.operand.value, (int, float, complex)
        )
    if isinstance(node, ast.Tuple):
        return all(is_constant(element) for element in node.elts)
    return isinstance(node, ast.Constant)


def defaults_constant(lifting: Lifting, helper: Helper) -> Refusal | None:
    """Defaults are immutable literals."""
    for default in (*helper.node.args.defaults, *helper.node.args.kw_defaults):
        if default is not None and not is_constant(default):
            return refuse(
                "default-not-constant",
                default.lineno,
                f"a default value of {helper.name} is evaluated at every definition",
            )
    return None


def decorators_stateless(lifting: Lifting, helper: Helper) -> Refusal | None:
    """Decorators are known ones, imported by the module before the outer function."""
    tree = lifting.tree
    for decorator in helper.node.decorator_list:
        function = decorator
        if isinstance(decorator, ast.Call):
            function = decorator.func
            if not all(is_constant(a) for a in (*decorator.args, *(k.value for k in decorator.keywords))):
                return refuse(
                    "decorated", decorator.lineno, f"a decorator of {helper.name} takes more than constants"
                )
        base = function
        while isinstance(base, ast.Attribute):
            base = base.value
        known = dotted(tree, helper.outer, function) in STATELESS_DECORATORS
        if not (known and isinstance(base, ast.Name) and _early(lifting, helper, base.id)):
            return refuse("decorated", decorator.lineno, f"{helper.name} is decorated here")
    return None


def _early(lifting: Lifting, helper: Helper, name: str) -> bool:
    """Whether a name is a global that is bound when the statement of the outermost function is reached."""
    module = lifting.tree.module
    if lifting.tree.owner(helper.outer, name) is not module or (module, name) not in lifting.tree.binders:
        return False
    flow = lifting.analysis.flow(module)
    root = helper.root.node
    return flow.knows(root) and flow.bound_at(root, name)


def annotations_safe(lifting: Lifting, helper: Helper) -> Refusal | None:
    """Annotations are strings, or such that evaluating them at module level can't fail."""
    if "annotations" in lifting.tree.source.future_flags:
        return None
    annotated = [*all_arguments(helper.node.args)]
    known = lifting.tree.once("evaluated annotations", lambda: evaluated_annotations(lifting.tree))
    for annotation in (*(argument.annotation for argument in annotated), helper.node.returns):
        if annotation is not None and not safe_annotation(lifting, helper, annotation, known):
            return refuse(
                "annotation-evaluated",
                annotation.lineno,
                f"an annotation of {helper.name} is evaluated at its definition",
            )
    return None


def evaluated_annotations(tree: ScopeTree) -> frozenset[str]:
    """Expressions that annotations evaluate anyway when the module is loaded."""
    found: set[str] = set()
    waiting = list(tree.source.tree.body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, ast.ClassDef):
            waiting.extend(statement.body)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for annotation in (*(a.annotation for a in all_arguments(statement.args)), statement.returns):
                if annotation is not None:
                    found.update(ast.dump(n) for n in ast.walk(annotation) if isinstance(n, ast.expr))
    return frozenset(found)


def safe_annotation(lifting: Lifting, helper: Helper, node: ast.expr, known: frozenset[str]) -> bool:
    """Whether evaluating an annotation before the outer function's statement gives what it gave inside it."""
    tree, scope = lifting.tree, helper.outer
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    if not all(tree.is_builtin(scope, n.id) or _importable(lifting, helper, n.id) for n in names):
        return False
    return ast.dump(node) in known or _harmless(tree, helper, node, known)


def _importable(lifting: Lifting, helper: Helper, name: str) -> bool:
    """Whether a global may be named in an annotation of the moved helper."""
    if not _early(lifting, helper, name):
        return False
    if helper not in lifting.foreign:
        return True
    binders = lifting.tree.binders[lifting.tree.module, name]
    return all(isinstance(binder.node, (ast.Import, ast.ImportFrom)) for binder in binders)


def _harmless(tree: ScopeTree, helper: Helper, node: ast.expr, known: frozenset[str]) -> bool:
    """Whether evaluating an expression of resolvable names can't fail."""
    if ast.dump(node) in known or isinstance(node, (ast.Constant, ast.Name)):
        return True
    if isinstance(node, ast.Attribute):
        path = dotted(tree, helper.outer, node) or ""
        return path in _KNOWN_TYPES or path.startswith(("collections.abc.", "typing."))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = (node.left, node.right)
        return all(
            (isinstance(side, ast.Constant) and side.value is None)
            or (isinstance(side, ast.Name) and tree.is_builtin(helper.outer, side.id))
            or (isinstance(side, (ast.BinOp, ast.Subscript)) and _harmless(tree, helper, side, known))
            for side in sides
        ) and not all(isinstance(side, ast.Constant) for side in sides)
    if isinstance(node, ast.Subscript):
        path = dotted(tree, helper.outer, node.value) or ""
        plain = path.removeprefix("builtins.") in _PLAIN_GENERICS or path.startswith(
            ("collections.abc.", "typing.")
        )
        return plain and _harmless(tree, helper, node.slice, known)
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(_harmless(tree, helper, element, known) for element in node.elts)
    return False


def no_type_params(lifting: Lifting, helper: Helper) -> Refusal | None:
    """No type parameters around the helper, and no variable that is read when a type is evaluated."""
    for scope in helper.scope.ancestors():
        if scope.has_type_params:
            return refuse("type-param", getattr(scope.node, "lineno", 1), f"{scope.name} has type parameters")
    for use in lifting.tree.lazy:
        if use.scope.inside(helper.root):
            reason = f"{use.node.id} is read whenever a type is evaluated"
            return refuse("type-param", use.node.lineno, reason)
    return None


def no_doctest(lifting: Lifting, helper: Helper) -> Refusal | None:
    """The docstring has no examples to be run."""
    if ">>>" in (ast.get_docstring(helper.node, clean=False) or ""):
        return refuse("doctest", helper.node.lineno, f"the docstring of {helper.name} has doctest examples")
    return None


CHECKS = (defaults_constant, decorators_stateless, annotations_safe, no_doctest)
