"""How each sort of statement is gone through."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeGuard

from codemods.hotpath.branches import ends_program, narrows
from codemods.hotpath.frame import Env, Frame
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.intervals import every
from codemods.hotpath.iteration import behind, item_of, iterator_of
from codemods.hotpath.kinds import (
    CPU,
    EVERY,
    HOST,
    MOSTLY,
    TENSOR,
    UNKNOWN,
    Kind,
    element,
    holds_tensor,
    is_host,
    is_tensor,
    join,
    put,
    seq,
)
from codemods.hotpath.loops import header, only_fences, runs_once
from codemods.hotpath.modules import Class, imported
from codemods.hotpath.narrowing import narrowed
from codemods.hotpath.results import Heat, Loop
from codemods.hotpath.uses import path_of

STATEMENTS: dict[type[ast.stmt], Callable[[Interpreter, Frame, Any], bool]] = {}
_MOST_ROUNDS = 3
_COLD = nullcontext()
_NOTHING: tuple[Env, Env] = ({}, {})


def statement(*types: type[ast.stmt]) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Register how a sort of statement is gone through; the function says if what follows it can run."""

    def register(function: Callable[..., bool]) -> Callable[..., bool]:
        for type_ in types:
            STATEMENTS[type_] = function
        return function

    return register


def join_env(left: Env, right: Env) -> Env:
    """Variables after two paths; what only one of them binds is bound as there."""
    if left == right:
        return left
    merged = dict(left)
    for name, kind in right.items():
        other = merged.get(name)
        merged[name] = kind if other is None else join(other, kind)
    return merged


def condition(it: Interpreter, frame: Frame, node: ast.expr) -> None:
    """Evaluate an expression whose truth is asked."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            condition(it, frame, value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        condition(it, frame, node.operand)
    elif is_tensor(it.evaluate(frame, node)):
        it.report(frame, "HP008", node)


def assign(it: Interpreter, frame: Frame, target: ast.expr, kind: Kind) -> None:
    """Bind a target."""
    if isinstance(target, ast.Name):
        frame.bind(target.id, kind)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for index, part in enumerate(target.elts):
            if isinstance(part, ast.Starred):
                assign(it, frame, part.value, seq(element(kind)))
            elif kind.tag == "tup" and index < len(kind.of) and len(kind.of) == len(target.elts):
                assign(it, frame, part, kind.of[index])
            else:
                assign(it, frame, part, element(kind))
    elif isinstance(target, ast.Attribute):
        owner = it.evaluate(frame, target.value)
        if owner.tag == "obj":
            for cls in owner.of:
                it.set_field(cls, target.attr, kind)
    elif isinstance(target, ast.Subscript):
        store(it, frame, target, kind)
    elif isinstance(target, ast.Starred):
        assign(it, frame, target.value, kind)


def store(it: Interpreter, frame: Frame, target: ast.Subscript, kind: Kind) -> None:
    """Assign to an element."""
    owner = it.evaluate(frame, target.value)
    index = it.evaluate(frame, target.slice)
    if is_tensor(owner) or owner.tag == "unknown":
        if index.tag == "mask" and holds_tensor(kind):
            it.report(frame, "HP006", target)
        if is_tensor(owner):
            if kind.tag == "cpu":
                it.report(frame, "HP015", target)
            frame.fenced = False
        return
    if owner.tag == "cpu" and index.tag in ("cpu", "text"):
        return  # a dict, by its keys: what iterating over it gave, or a string
    if owner.tag == "cpu" and is_tensor(kind):
        it.report(frame, "HP005", target)
        return
    if owner.tag == "host" and is_tensor(kind):
        it.report(frame, "HP004", target)  # an array takes the number out of the tensor
        return
    grown = put(owner, kind, key=index, is_slice=isinstance(target.slice, ast.Slice))
    if grown is not None:
        keep(it, frame, target.value, grown)


def keep(it: Interpreter, frame: Frame, node: ast.expr, kind: Kind, *, anew: bool = False) -> None:
    """Note that what an expression names is of a kind now, ``anew`` if of no other any more."""
    if isinstance(node, ast.Name):
        (frame.bind if anew else frame.merge)(node.id, kind)
    elif isinstance(node, ast.Attribute):
        owner = it.evaluate(frame, node.value)
        for cls in owner.of if owner.tag == "obj" else ():
            it.set_field(cls, node.attr, kind)
    elif isinstance(node, ast.Subscript):
        grown = put(it.evaluate(frame, node.value), kind, key=it.evaluate(frame, node.slice))
        if grown is not None:
            keep(it, frame, node.value, grown)


@statement(ast.Expr)
def _expr(it: Interpreter, frame: Frame, node: ast.Expr) -> bool:
    it.evaluate(frame, node.value)
    return not ends_program(node)


@statement(ast.Assign)
def _assign(it: Interpreter, frame: Frame, node: ast.Assign) -> bool:
    kind = it.evaluate(frame, node.value)
    if kind.tag == "unknown" and kind.of is None:
        kind = _by_use(frame, node.targets[0])
    kind = truth(it, frame, node.value, kind)
    for target in node.targets:
        if _moves_element(target, node.value) and it.evaluate(frame, target.value).tag == "cpu":
            # A batch is a list of tensors here: nobody moves a part of a tensor to put it back where it was.
            # Its others have not moved yet.
            keep(it, frame, target.value, seq(CPU), anew=True)
        else:
            assign(it, frame, target, kind)
    return True


def _moves_element(target: ast.expr, value: ast.expr) -> TypeGuard[ast.Subscript]:
    """Tell whether an element is replaced by itself on another device: ``x[0] = x[0].cuda()``."""
    return (
        isinstance(target, ast.Subscript)
        and isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("cuda", "to")
        and ast.unparse(value.func.value) == ast.unparse(target)
    )


def truth(it: Interpreter, frame: Frame, node: ast.expr, kind: Kind) -> Kind:
    """A value's kind, and whether it is a truth that holds every so many rounds only."""
    if not isinstance(node, (ast.Compare, ast.BoolOp, ast.Call, ast.UnaryOp)) or kind not in (HOST, UNKNOWN):
        return kind
    often = every(it, frame, node)
    if often is None:
        return kind
    # What is compared with a remainder is a number, and the truth of it is on the host.
    return Kind("host" if isinstance(node, ast.Compare) else kind.tag, EVERY if often else MOSTLY)


def _by_use(frame: Frame, target: ast.expr) -> Kind:
    """A tensor, if that is how a field of ``self`` is used in this function."""
    return TENSOR if isinstance(target, ast.Attribute) and path_of(target) in frame.uses.tensors else UNKNOWN


@statement(ast.AnnAssign)
def _ann_assign(it: Interpreter, frame: Frame, node: ast.AnnAssign) -> bool:
    stated = it.annotated(node.annotation, frame.module, frame.cls)
    if node.value is None:
        return True
    kind = it.evaluate(frame, node.value)
    if kind.tag in ("unknown", "bottom", "host") or (kind.tag in ("seq", "map") and kind.of.tag == "bottom"):
        kind = kind if stated.tag == "unknown" else stated
    assign(it, frame, node.target, kind)
    return True


@statement(ast.AugAssign)
def _aug_assign(it: Interpreter, frame: Frame, node: ast.AugAssign) -> bool:
    value = it.evaluate(frame, node.value)
    before = it.evaluate(frame, node.target)
    if isinstance(node.target, ast.Subscript) and is_tensor(value):
        store(it, frame, node.target, value)
        return True
    if is_tensor(value) or is_tensor(before):
        frame.fenced = False
        if is_tensor(before) and isinstance(node.target, ast.Subscript):
            return True
        assign(it, frame, node.target, TENSOR)
    elif before.tag == "seq":
        assign(it, frame, node.target, seq(join(before.of, element(value))))
    elif before.tag != value.tag:
        assign(it, frame, node.target, join(before, value))
    return True


@statement(ast.Return)
def _return(it: Interpreter, frame: Frame, node: ast.Return) -> bool:
    kind = HOST if node.value is None else it.evaluate(frame, node.value)
    frame.returned = join(frame.returned, kind)
    return False


@statement(ast.Raise)
def _raise(it: Interpreter, frame: Frame, node: ast.Raise) -> bool:
    # An error ends the loop: what it costs to word it is no stall of a loop that runs.
    return False


@statement(ast.Break, ast.Continue)
def _exit(it: Interpreter, frame: Frame, node: ast.stmt) -> bool:
    frame.exits.append((frame.env, frame.fenced))
    return False


@statement(ast.Assert)
def _assert(it: Interpreter, frame: Frame, node: ast.Assert) -> bool:
    condition(it, frame, node.test)
    if narrows(node.test):
        frame.env.update(narrowed(it, frame, node.test)[0])
    return True


@statement(ast.Delete)
def _delete(it: Interpreter, frame: Frame, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)
    return True


@statement(ast.Nonlocal)
def _nonlocal(it: Interpreter, frame: Frame, node: ast.Nonlocal) -> bool:
    frame.nonlocals.update(node.names)
    return True


@statement(ast.Import, ast.ImportFrom)
def _import(it: Interpreter, frame: Frame, node: ast.Import | ast.ImportFrom) -> bool:
    for name, dotted in imported(node, frame.module.package):
        if name != "*":
            frame.env[name] = it.definition_kind(it.program.resolve(it.program.near(frame.module, dotted)))
    return True


@statement(ast.FunctionDef, ast.AsyncFunctionDef)
def _function(it: Interpreter, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    plain = Kind("fn", ((it.function(frame, node), None, frame),))
    frame.env[node.name] = it.decorated(frame, node, plain) if node.decorator_list else plain
    return True


@statement(ast.If)
def _if(it: Interpreter, frame: Frame, node: ast.If) -> bool:
    condition(it, frame, node.test)
    before, fenced = frame.env, frame.fenced
    said = it.written.branch(node)
    if said.fences:
        it.run_block(frame, node.body)
        frame.env, frame.fenced = before, True
        return True
    inside, outside = narrowed(it, frame, node.test) if said.narrows else _NOTHING
    often, rare = every(it, frame, node.test) if said.rare else None, frame.rare
    often = it.written.tick(node) if often is None else often
    frame.env = {**before, **inside}
    frame.rare = rare or often is True or said.lazy
    without, quiet = said.without, frame.quiet
    # What is told before an error, or before the program ends, is told once.
    frame.quiet = quiet or without is True or said.ends
    first = it.run_block(frame, node.body)
    env, idle = frame.env, frame.fenced
    frame.env, frame.fenced = {**before, **outside}, fenced
    frame.rare = rare or often is False
    frame.quiet = quiet or without is False
    second = it.run_block(frame, node.orelse)
    frame.quiet = quiet
    # `if step % 100: continue`, `if not should_log(step): return`: what follows runs every so many rounds.
    frame.rare = rare or (often is False and not first) or (often is True and not second)
    if first and second:
        if said.asks and not node.orelse:
            fenced = idle
        else:
            fenced = idle and frame.fenced
        frame.env, frame.fenced = join_env(env, frame.env), fenced
    elif first:
        frame.env, frame.fenced = env, idle
    return first or second


@statement(ast.For, ast.AsyncFor)
def _for(it: Interpreter, frame: Frame, node: ast.For | ast.AsyncFor) -> bool:
    iterable = iterator_of(it, frame, node, it.evaluate(frame, node.iter))
    item = element(iterable)
    assign(it, frame, node.target, item)
    per_env = it.written.over_envs(node) or elements_are_envs(it, frame, item)
    if only_fences(node.body):
        # Waiting for each stream in turn takes as long as the slowest: this is the fence itself.
        before, frame.draining = frame.draining, per_env and not frame.in_loop
        with loop(it, frame, node, per_env):
            it.run_block(frame, node.body)
        frame.draining, frame.fenced = before, True
        return True
    others = behind(it, frame, node.iter)
    with loop(it, frame, node, per_env):
        _repeat(it, frame, node, lambda: _round(it, frame, node, iterable, others))
    return it.run_block(frame, node.orelse)


def _round(
    it: Interpreter,
    frame: Frame,
    node: ast.For | ast.AsyncFor,
    iterable: Kind,
    others: list[tuple[ast.expr, Kind]],
) -> bool:
    for inner, kind in others:
        item_of(it, frame, inner, kind)
    assign(it, frame, node.target, item_of(it, frame, node, iterable))
    return it.run_block(frame, node.body)


@statement(ast.While)
def _while(it: Interpreter, frame: Frame, node: ast.While) -> bool:
    def once() -> bool:
        condition(it, frame, node.test)
        return it.run_block(frame, node.body)

    with loop(it, frame, node, it.rules.while_envs(node.test)):
        exits = _repeat(it, frame, node, once)
    forever = isinstance(node.test, ast.Constant) and node.test.value is True
    return it.run_block(frame, node.orelse) and (exits or not forever)


def _repeat(
    it: Interpreter, frame: Frame, node: ast.For | ast.AsyncFor | ast.While, once: Callable[[], bool]
) -> bool:
    """Run a loop's body until nothing changes any more; whether it was left by a jump."""
    exits, frame.exits = frame.exits, []
    start, fenced = frame.env, frame.fenced
    jumped = False
    for _ in range(_MOST_ROUNDS):
        frame.env, frame.fenced = dict(start), fenced
        falls_through = once()
        after, idle = (frame.env, frame.fenced) if falls_through else (start, fenced)
        for env, fence in frame.exits:
            after, idle = join_env(after, env), idle and fence
            jumped = True
        frame.exits = []
        joined, still = join_env(start, after), fenced and idle
        if still == fenced and not _matters(it, frame, node, start, joined):
            start = joined
            break
        start, fenced = joined, still
    frame.env, frame.fenced, frame.exits = dict(start), fenced, exits
    return jumped


def _matters(
    it: Interpreter, frame: Frame, node: ast.For | ast.AsyncFor | ast.While, before: Env, after: Env
) -> bool:
    """Tell whether another round may give something else, now that variables are what one has made of
    them.
    """
    changed = [name for name, kind in after.items() if before.get(name) != kind]
    if not changed:
        return False
    carried = it.written.carried(frame.function, node)
    return any(name in carried for name in changed)


LoopNode = ast.For | ast.AsyncFor | ast.While | ast.comprehension | ast.Call


def loop(it: Interpreter, frame: Frame, node: LoopNode, per_env: bool) -> AbstractContextManager[None]:
    """Be in a loop, if it is a hot one; one that is left in its first round is none."""
    heat = None if runs_once(node) else it.heat_of(frame, node, per_env)
    return _COLD if heat is None else _hot(it, frame, node, heat)


@contextmanager
def _hot(it: Interpreter, frame: Frame, node: LoopNode, heat: Heat) -> Iterator[None]:
    last = node.iter if isinstance(node, ast.comprehension) else node
    found = Loop(
        it.written.place(frame.module, node),
        header(node),
        frame.qualname,
        last.end_lineno or last.lineno,
        heat,
    )
    it.loops[found] = None
    it.written.enter(node)
    frame.loops.append(found)
    rare, frame.rare = frame.rare, False
    try:
        yield
    finally:
        frame.rare = rare
        frame.loops.pop()


def elements_are_envs(it: Interpreter, frame: Frame, item: Kind) -> bool:
    """Tell whether something is an environment by its class."""
    if item.tag == "tup":
        return any(elements_are_envs(it, frame, part) for part in item.of)
    return item.tag == "obj" and any(
        isinstance(cls, Class) and it.rules.annotation(cls.name.rpartition(".")[2]) for cls in item.of
    )


@statement(ast.Try, ast.TryStar)
def _try(it: Interpreter, frame: Frame, node: ast.Try) -> bool:
    before, fenced = frame.env, frame.fenced
    frame.env = dict(before)
    falls = it.run_block(frame, node.body)
    broken, idle = join_env(before, frame.env), fenced and frame.fenced
    if falls:
        falls = it.run_block(frame, node.orelse)
    after, done = frame.env, frame.fenced
    for handler in node.handlers:
        frame.env, frame.fenced = dict(broken), idle
        if handler.name:
            frame.env[handler.name] = HOST
        if it.run_block(frame, handler.body):
            after = join_env(after, frame.env) if falls else frame.env
            done = done and frame.fenced if falls else frame.fenced
            falls = True
    frame.env, frame.fenced = dict(after), done
    return it.run_block(frame, node.finalbody) and falls


@statement(ast.With, ast.AsyncWith)
def _with(it: Interpreter, frame: Frame, node: ast.With | ast.AsyncWith) -> bool:
    on_device = frame.on_device
    managers: list[tuple[ast.expr, Kind]] = []
    for item in node.items:
        kind = it.evaluate(frame, item.context_expr)
        if kind.tag == "device" and kind.of != "cpu":
            frame.on_device = True
        if kind.tag == "obj":
            managers.append((item.context_expr, kind))
            for cls in kind.of:
                enter = it.program.method(cls, "__enter__")
                if enter is not None:
                    kind = it.call(frame, item.context_expr, enter, kind)
        elif kind.tag == "seq":
            kind = element(kind)
        if item.optional_vars is not None:
            assign(it, frame, item.optional_vars, kind)
    falls = it.run_block(frame, node.body)
    for manager, kind in reversed(managers):
        it.call_special(frame, manager, kind, ("__exit__",), (HOST, HOST, HOST))
    frame.on_device = on_device
    return falls


@statement(ast.Match)
def _match(it: Interpreter, frame: Frame, node: ast.Match) -> bool:
    subject = it.evaluate(frame, node.subject)
    if is_tensor(subject):
        it.report(frame, "HP008", node.subject)
    before, fenced = frame.env, frame.fenced
    after, idle, falls = before, fenced, True
    for case in node.cases:
        frame.env, frame.fenced = dict(before), fenced
        for part in ast.walk(case.pattern):
            name = getattr(part, "name", None)
            if isinstance(part, (ast.MatchAs, ast.MatchStar)) and name:
                frame.env[name] = element(subject) if is_host(subject) else UNKNOWN
        if case.guard is not None:
            condition(it, frame, case.guard)
        if it.run_block(frame, case.body):
            after, idle = join_env(after, frame.env), idle and frame.fenced
    frame.env, frame.fenced = dict(after), idle
    return falls
