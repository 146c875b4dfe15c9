"""Expressions that a definition evaluates, after a lift only once: defaults, decorators, annotations.

It must not depend on the function or class around it in other ways than by captures.
"""

from __future__ import annotations

import ast
import importlib
from typing import Any

from codemods.program.annotations import stated_by
from codemods.program.lifting import Helper, Lifting
from codemods.program.nodes import all_defaults, called, first_of
from codemods.program.scopes import ScopeTree, dotted, private_names
from codemods.program.source import words
from codemods.program.surroundings import Surroundings
from codemods.rewrites.refusals import Refusals, refuse

# Decorators that keep no state and do the same thing however often they are applied.
STATELESS_DECORATORS = words("""
    contextlib.asynccontextmanager contextlib.contextmanager torch.compiler.disable torch.enable_grad
    torch.inference_mode torch.jit.unused torch.no_grad
""")
# Classes of other packages that their first part alone makes available.
_CLASSES = words("""
    argparse.Namespace collections.OrderedDict collections.defaultdict collections.deque datetime.datetime
    logging.Logger numpy.dtype numpy.ndarray os.PathLike pathlib.Path torch.Generator torch.LongTensor
    torch.Size torch.Tensor torch.device torch.dtype torch.nn.Module torch.nn.Parameter
    torch.optim.Optimizer torch.utils.data.DataLoader torch.utils.data.Dataset
""")


def is_constant(node: ast.expr) -> bool:
    """Tell whether an expression makes the same immutable value whenever it is evaluated."""
    match node:
        case ast.UnaryOp(ast.USub() | ast.UAdd(), ast.Constant(value)):
            return isinstance(value, (int, float, complex))
        case ast.Tuple(elements):
            return all(map(is_constant, elements))
    return isinstance(node, ast.Constant)


def plain_definition(lifting: Lifting, helper: Helper) -> Refusals:
    """Defaults are immutable literals; decorators are known ones, imported before the outer function."""
    for default in all_defaults(helper.node.args):
        if not is_constant(default):
            what = f"a default value of {helper.name} is evaluated at every definition"
            yield refuse("default-not-constant", default, what)
    for decorator in helper.node.decorator_list:
        given: tuple[ast.expr, ...] = ()
        if isinstance(decorator, ast.Call):
            given = (*decorator.args, *(keyword.value for keyword in decorator.keywords))
        base = first_of(called(decorator))
        known = dotted(lifting.tree, helper.outer, called(decorator)) in STATELESS_DECORATORS
        known = known and isinstance(base, ast.Name) and bound_early(lifting, helper, base.id)
        if not known or not all(map(is_constant, given)):
            yield refuse("decorated", decorator, f"{helper.name} is decorated here")


def bound_early(lifting: Lifting, helper: Helper, name: str) -> bool:
    """Tell whether a name is a global that is bound when the statement of the outermost function is
    reached.
    """
    module = lifting.tree.module
    if lifting.tree.owner(helper.outer, name) is not module or (module, name) not in lifting.tree.binders:
        return False
    flow = lifting.analysis.flow(module)
    root = helper.top
    return flow.knows(root) and flow.bound_at(root, name)


def evaluated_annotations(tree: ScopeTree, helper: Helper) -> list[ast.expr]:
    """The annotations of a helper that its definition evaluates."""
    if "annotations" in tree.source.future_flags:
        return []
    return [annotation for annotation in stated_by(helper.node) if not isinstance(annotation, ast.Constant)]


def annotations_safe(lifting: Lifting, helper: Helper) -> Refusals:
    """Annotations are texts, names that are bound once, or types that surely can be made.

    What they give is not seen by anyone: the helper is only called.
    """
    for annotation in evaluated_annotations(lifting.tree, helper):
        try:
            _made(lifting, helper, annotation, alone=True)
        except (AttributeError, LookupError, TypeError):
            what = f"an annotation of {helper.name} is evaluated at its definition"
            yield refuse("annotations-evaluated", annotation, what)


def _is_bound(lifting: Lifting, helper: Helper, name: str) -> bool:
    """Tell whether a name of the module is bound once, before the outermost function's statement."""
    if not bound_early(lifting, helper, name):
        return False
    binders = lifting.tree.binders[lifting.tree.module, name]
    imported = all(isinstance(binder.node, (ast.Import, ast.ImportFrom)) for binder in binders)
    return imported or (len(binders) == 1 and helper not in lifting.foreign)


def _made(lifting: Lifting, helper: Helper, node: ast.expr, *, alone: bool = False) -> Any:
    """Evaluate a type, with `object` in the place of classes that are not the interpreter's own, and of
    anything that stands ``alone`` or in brackets, where it is not asked for more.

    Raises:
        LookupError: if it has parts that are not known.
        AttributeError, TypeError: if it can't be evaluated.
    """
    match node:
        case ast.Constant(value) if not isinstance(value, str):
            return value
        case ast.Tuple(elements) | ast.List(elements):
            made = [_made(lifting, helper, element, alone=alone) for element in elements]
            return made if isinstance(node, ast.List) else tuple(made)
        case ast.Subscript(value, index):
            return _made(lifting, helper, value)[_made(lifting, helper, index, alone=True)]
        case ast.BinOp(left, ast.BitOr(), right):
            return _made(lifting, helper, left) | _made(lifting, helper, right)
        case ast.Name() | ast.Attribute():
            path = dotted(lifting.tree, helper.outer, node) or ""
            module, _, name = path.rpartition(".")
            root = first_of(node)
            early = isinstance(root, ast.Name) and bound_early(lifting, helper, root.id)
            if module == "builtins" or (early and module in ("collections.abc", "typing")):
                return getattr(importlib.import_module(module), name)
            bound = alone and isinstance(node, ast.Name) and _is_bound(lifting, helper, node.id)
            if bound or (early and (path in _CLASSES or _is_plain_class(lifting, node))):
                return object
    raise LookupError


def _is_plain_class(lifting: Lifting, node: ast.expr) -> bool:
    """Tell whether it is a class of the file, defined once, that has no bases, metaclass or decorator."""
    if not isinstance(node, ast.Name):
        return False
    binders = lifting.tree.binders.get((lifting.tree.module, node.id), [])
    made = binders[0].node if len(binders) == 1 else None
    return isinstance(made, ast.ClassDef) and not (made.bases or made.keywords or made.decorator_list)


def defined_alike(around: Surroundings, tree: ScopeTree, helper: Helper) -> Refusals:
    """No file of the project replaces what the definition evaluates."""
    for code, evaluated in (
        ("annotations-evaluated", evaluated_annotations(tree, helper)),
        ("decorated", [called(decorator) for decorator in helper.node.decorator_list]),
    ):
        parts = (part for node in evaluated for part in ast.walk(node))
        names = {ast.unparse(part) for part in parts if isinstance(part, (ast.Name, ast.Attribute))}
        if (place := around.replacing(names)) is not None:
            what = f"{place}, which the definition of {helper.name} evaluates at every call"
            yield refuse(code, helper.node, what)


def understood(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing around the helper has type parameters."""
    for scope in lifting.tree.generic:
        if scope.inside(helper.root):
            yield refuse("not-understood", scope.node, "a type parameter or a type alias stands here")


def no_class_cell(lifting: Lifting, helper: Helper) -> Refusals:
    """The helper has no need of a class around it."""
    private = helper.scope.private
    found = [] if private is None else list(private_names(helper.node, private))
    if "__class__" in helper.scope.free:
        found.insert(0, ("super() or __class__", helper.node.lineno))
    for name, line in found:
        yield refuse("class-cell", line, f"{helper.name} uses {name} of the class around it")
