"""What a dotted expression refers to, as far as imports tell."""

from __future__ import annotations

import ast

from codemods.facts.imports import bound_name
from codemods.facts.scopes import Scope, ScopeTree
from codemods.facts.words import words

# Context managers that never swallow what their block raises.
_QUIET = words("""
    builtins.open contextlib.closing contextlib.nullcontext contextlib.redirect_stderr
    contextlib.redirect_stdout decimal.localcontext tempfile.NamedTemporaryFile tempfile.TemporaryDirectory
    tempfile.TemporaryFile threading.Condition threading.Lock threading.RLock threading.Semaphore
    warnings.catch_warnings torch.amp.autocast torch.autocast torch.autograd.profiler.record_function
    torch.autograd.set_detect_anomaly torch.autograd.set_grad_enabled torch.cuda.amp.autocast
    torch.cuda.device torch.cuda.stream torch.device torch.enable_grad torch.inference_mode torch.no_grad
    torch.profiler.record_function torch.random.fork_rng torch.set_grad_enabled
""")


def dotted(tree: ScopeTree, scope: Scope, node: ast.expr) -> str | None:
    """The dotted path that an expression names, or None where the program text doesn't say.

    A name counts if each of its bindings is an import of the same thing.
    """
    if isinstance(node, ast.Attribute):
        base = dotted(tree, scope, node.value)
        return None if base is None else f"{base}.{node.attr}"
    if not isinstance(node, ast.Name):
        return None
    owner = tree.owner(scope, node.id)
    binders = tree.binders.get((owner, node.id), [])
    if not binders:
        return f"builtins.{node.id}" if tree.is_builtin(scope, node.id) else None
    paths = {imported_path(binder.node, node.id) for binder in binders}
    return paths.pop() if len(paths) == 1 else None


def imported_path(node: ast.AST, name: str) -> str | None:
    """The dotted path that an import statement binds to a name."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname == name:
                return alias.name
            if alias.asname is None and alias.name.partition(".")[0] == name:
                return name
    if isinstance(node, ast.ImportFrom):
        for alias in node.names:
            if bound_name(alias) == name:
                return "." * node.level + ".".join(part for part in (node.module, alias.name) if part)
    return None


def is_quiet(tree: ScopeTree, scope: Scope, node: ast.expr) -> bool:
    """Whether a context manager expression surely lets exceptions of its block through."""
    if isinstance(node, ast.IfExp):
        return is_quiet(tree, scope, node.body) and is_quiet(tree, scope, node.orelse)
    if isinstance(node, ast.Call):
        return dotted(tree, scope, node.func) in _QUIET
    if isinstance(node, ast.Name):
        owner = tree.owner(scope, node.id)
        binders = tree.binders.get((owner, node.id), [])
        values = [_assigned(owner.node, binder.node) for binder in binders]
        return bool(values) and all(
            isinstance(v, (ast.Call, ast.IfExp)) and is_quiet(tree, owner, v) for v in values
        )
    return False


def _assigned(frame: ast.AST, target: ast.AST) -> ast.expr | None:
    """The value that a plain assignment among a frame's statements gives to a target."""
    for node in ast.walk(frame):
        if isinstance(node, ast.Assign) and node.targets == [target]:
            return node.value
    return None
