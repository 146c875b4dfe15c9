"""What a definition evaluates at every call of the outer function, and after a lift once: annotations, and
the names of decorators.
"""

from __future__ import annotations

import ast

from codemods.program.annotations import reads_of, stated_by
from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import called
from codemods.program.replaced import place_replacing
from codemods.program.scopes import ScopeTree, dotted
from codemods.program.surroundings import Surroundings
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, refuse
from codemods.rewrites.rules.definition import bound_early

_TYPING = ("typing.", "typing_extensions.", "collections.abc.")
_GENERICS = words("builtins.dict builtins.frozenset builtins.list builtins.set builtins.tuple builtins.type")
# How many types these take in brackets; 0: as many as there are.
_TAKES = {
    **dict.fromkeys(words("Collection FrozenSet Iterable Iterator List Optional Sequence Set Type"), 1),
    **dict.fromkeys(words("Dict Mapping MutableMapping"), 2),
    **dict.fromkeys(words("Tuple Union"), 0),
}
# Classes of other packages that their first part alone makes available.
_CLASSES = words("""
    argparse.Namespace collections.OrderedDict collections.defaultdict collections.deque datetime.datetime
    logging.Logger numpy.dtype numpy.ndarray os.PathLike pathlib.Path torch.Generator torch.LongTensor
    torch.Size torch.Tensor torch.device torch.dtype torch.nn.Module torch.nn.Parameter
    torch.optim.Optimizer torch.utils.data.DataLoader torch.utils.data.Dataset
""")


def evaluated_annotations(tree: ScopeTree, helper: Helper) -> list[ast.expr]:
    """The annotations of a helper that its definition evaluates."""
    if "annotations" in tree.source.future_flags:
        return []
    return [annotation for annotation in stated_by(helper.node) if not isinstance(annotation, ast.Constant)]


def annotations_safe(lifting: Lifting, helper: Helper) -> Refusals:
    """Annotations are texts, names that are bound once, or made of builtins, typing and well-known classes.

    What they give is not seen by anyone: the helper is only called.
    """
    for annotation in evaluated_annotations(lifting.tree, helper):
        if not (_is_bound(lifting, helper, annotation) or _is_type(lifting, helper, annotation)):
            what = f"an annotation of {helper.name} is evaluated at its definition"
            yield refuse("annotations-evaluated", annotation, what)


def _is_bound(lifting: Lifting, helper: Helper, node: ast.expr) -> bool:
    """Whether it is a name of the module that is bound once, before the outermost function's statement."""
    if not isinstance(node, ast.Name) or not bound_early(lifting, helper, node.id):
        return False
    binders = lifting.tree.binders[lifting.tree.module, node.id]
    imported = all(isinstance(binder.node, (ast.Import, ast.ImportFrom)) for binder in binders)
    return imported or (len(binders) == 1 and helper not in lifting.foreign)


def _is_type(lifting: Lifting, helper: Helper, node: ast.expr) -> bool:
    """Whether an expression is a type that surely evaluates, alone, in brackets or in a union."""
    match node:
        case ast.Constant(value):
            return value is None or value is Ellipsis
        case ast.Name() | ast.Attribute():
            path = dotted(lifting.tree, helper.outer, node) or ""
            first = path.partition(".")[0]
            root = next(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
            early = first == "builtins" or bound_early(lifting, helper, root)
            known = path.startswith(("builtins.", *_TYPING)) or path in _CLASSES
            return early and (known or _is_plain_class(lifting, node))
        case ast.Subscript(value, index):
            given = index.elts if isinstance(index, ast.Tuple) else [index]
            path = dotted(lifting.tree, helper.outer, value) or ""
            if path in _GENERICS:
                return all(_is_type(lifting, helper, e) or _is_bound(lifting, helper, e) for e in given)
            takes = _TAKES.get(path.rpartition(".")[2]) if path.startswith(_TYPING) else None
            fits = takes is not None and takes in (0, len(given)) and _is_type(lifting, helper, value)
            return fits and all(_is_type(lifting, helper, element) for element in given)
        case ast.BinOp(left, ast.BitOr(), right):
            return _is_type(lifting, helper, left) and _is_type(lifting, helper, right)
    return False


def _is_plain_class(lifting: Lifting, node: ast.expr) -> bool:
    """Whether it is a class of the file, defined once, that has no bases, metaclass or decorator."""
    if not isinstance(node, ast.Name):
        return False
    binders = lifting.tree.binders.get((lifting.tree.module, node.id), [])
    made = binders[0].node if len(binders) == 1 else None
    return isinstance(made, ast.ClassDef) and not (made.bases or made.keywords or made.decorator_list)


def defined_alike(around: Surroundings, tree: ScopeTree, helper: Helper) -> Refusals:
    """No file of the project replaces, and no star import brings, what the definition evaluates."""
    for code, evaluated in (
        ("annotations-evaluated", evaluated_annotations(tree, helper)),
        ("decorated", [called(decorator) for decorator in helper.node.decorator_list]),
    ):
        names, paths = reads_of(tree, helper.outer, evaluated)
        place = place_replacing(around, names, paths)
        if place is not None:
            what = f"{place}, which the definition of {helper.name} evaluates at every call"
            yield refuse(code, helper.node, what)
        for name in names:
            binders = tree.binders.get((tree.module, name), [])
            line = around.late_star(min((b.line for b in binders), default=0))
            if line is not None:
                yield refuse(code, line, f"this star import may bring {name}")
