"""Edits that the operators make, one function each. An edit keeps every line where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

_REFERENCES = (cst.Name, cst.Attribute, cst.Subscript)

_TYPED = ("isinstance", "issubclass", "getattr", "hasattr", "setattr", "print")


def arguments(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Each pair of neighbours that are names, given in the same way."""
    if not isinstance(node, cst.Call) or source.text(node.func) in _TYPED:
        return
    for first, second in pairwise(node.args):
        alike = (first.keyword is None) == (second.keyword is None) and not first.star and not second.star
        names = isinstance(first.value, _REFERENCES) and isinstance(second.value, _REFERENCES)
        if alike and names and source.text(first.value) != source.text(second.value):
            yield source.swap(first.value, second.value)


_ARITHMETIC: dict[type[cst.CSTNode], tuple[str, str]] = {
    cst.Add: ("+", "-"),
    cst.Subtract: ("-", "+"),
    cst.Multiply: ("*", "/"),
    cst.Divide: ("/", "*"),
    cst.FloorDivide: ("//", "/"),
    cst.Power: ("**", "*"),
    cst.AddAssign: ("+=", "="),
    cst.SubtractAssign: ("-=", "+="),
    cst.MultiplyAssign: ("*=", "="),
    cst.DivideAssign: ("/=", "="),
}

_JOINED = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString, cst.List, cst.Tuple, cst.Dict)


def arithmetic(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The other operator."""
    if isinstance(node, cst.BinaryOperation):
        if not isinstance(node.left, _JOINED) and not isinstance(node.right, _JOINED):
            yield from source.exchanged(node.operator, _ARITHMETIC)
    elif isinstance(node, cst.AugAssign):
        if not isinstance(node.value, _JOINED):
            yield from source.exchanged(node.operator, _ARITHMETIC)
    elif isinstance(node, cst.Minus) and not _of_number(node, source):
        yield source.token(node, "-", "+")


def _of_number(node: cst.Minus, source: Source) -> bool:
    operation = source.parent(node)
    return isinstance(operation, cst.UnaryOperation) and isinstance(operation.expression, cst.Integer)


def clone(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """What it is called on, alone."""
    yield from source.without_call(node, "clone")


_COMPARISONS: dict[type[cst.CSTNode], tuple[str, str]] = {
    cst.LessThan: ("<", "<="),
    cst.LessThanEqual: ("<=", "<"),
    cst.GreaterThan: (">", ">="),
    cst.GreaterThanEqual: (">=", ">"),
    cst.Equal: ("==", "!="),
    cst.NotEqual: ("!=", "=="),
    cst.Is: ("is", "is not"),
    cst.In: ("in", "not in"),
}


def comparison(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The other operator."""
    yield from source.exchanged(node, _COMPARISONS)
    if isinstance(node, cst.IsNot | cst.NotIn):
        yield source.replace(node, "is" if isinstance(node, cst.IsNot) else "in")


def condition(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The negation of a test, the other connective."""
    if isinstance(node, cst.And):
        yield source.token(node, "and", "or")
    elif isinstance(node, cst.Or):
        yield source.token(node, "or", "and")
    elif isinstance(node, cst.If | cst.IfExp):
        test = node.test
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            yield source.replace(test, source.text(test.expression))
        elif not isinstance(test, cst.Comparison | cst.BooleanOperation):
            yield source.replace(test, f"not ({source.text(test)})")


def constant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The neighbour of a number, the other flag."""
    if isinstance(node, cst.Integer) and node.value.isdecimal():
        yield source.replace(node, str(int(node.value) + 1))
    elif isinstance(node, cst.Float):
        value = float(node.value)
        yield source.replace(node, repr(value * 2 if value else 1.0))
    elif isinstance(node, cst.Name) and node.value in ("True", "False"):
        yield source.replace(node, str(node.value == "False"))


# Of these a keyword is a part, not an option.
_KEYWORDS_ARE_PARTS = ("dict", "replace")


def default(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The call without each of its keywords in turn, if it has few: those of many are mostly required."""
    if not isinstance(node, cst.Call) or source.text(node.func).rpartition(".")[2] in _KEYWORDS_ARE_PARTS:
        return
    for position, argument in enumerate(node.args):
        if argument.keyword is not None:
            yield _without(node.args, position, source)


def _without(arguments: Sequence[cst.Arg], position: int, source: Source) -> Edit:
    start, end = source.span(arguments[position])
    if position + 1 < len(arguments):
        end = source.span(arguments[position + 1])[0]
    elif position:
        start = source.span(arguments[position - 1])[1]
    left_out = source.data[start:end]
    return Edit(start, end, b"\n" * left_out.count(b"\n"))


def detach(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """What it is called on, alone."""
    yield from source.without_call(node, "detach")


def dropped_call(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Nothing in place of the call; as many lines as before."""
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        text = source.text(node)
        if not text.startswith("super()"):
            first, last = source.lines(node)
            if first == last:
                yield source.replace(node, "pass")
            elif _ends_its_line(node, source):
                yield source.replace(node, "pass" + "\n" * (last - first))


def _ends_its_line(node: cst.Expr, source: Source) -> bool:
    line = source.parent(node)
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1


_RANGE = m.Call(func=m.Name("range"))


def loop(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The bound of a range less one, the other jump."""
    if isinstance(node, cst.Call) and m.matches(node, _RANGE) and 1 <= len(node.args) <= 2:
        bound = node.args[-1].value
        if not isinstance(bound, cst.Integer) and not node.args[-1].star:
            yield source.replace(bound, f"({source.text(bound)}) - 1")
    elif isinstance(node, cst.Break | cst.Continue) and _in_for(node, source):
        yield source.replace(node, "continue" if isinstance(node, cst.Break) else "break")


def _in_for(node: cst.CSTNode, source: Source) -> bool:
    parent = source.parent(node)
    while parent is not None and not isinstance(parent, cst.While | cst.FunctionDef):
        if isinstance(parent, cst.For):
            return True
        parent = source.parent(parent)
    return False


_SETS_MODE = m.Call(func=m.Attribute(attr=m.Name("train") | m.Name("eval")), args=[])

_GIVEN_MODE = m.Call(
    func=m.Attribute(attr=m.Name("train")), args=[m.Arg(value=m.Name(), keyword=None, star="")]
)


def mode(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The other mode."""
    if m.matches(node, _SETS_MODE):
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        name = node.func.attr
        yield source.replace(name, "eval" if name.value == "train" else "train")
    elif m.matches(node, _GIVEN_MODE):
        assert isinstance(node, cst.Call)
        mode = node.args[0].value
        # Flags are turned by the operator of constants.
        if source.text(mode) not in ("True", "False"):
            yield source.replace(mode, f"not ({source.text(mode)})")


_NO_GRAD = m.Call(func=m.Attribute(attr=m.Name("no_grad") | m.Name("inference_mode")), args=[])


def no_grad(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The context that does the opposite."""
    if m.matches(node, _NO_GRAD):
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        yield source.replace(node.func.attr, "enable_grad")


def order(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Each pair of neighbours of a block that does something with what the other does."""
    if not isinstance(node, cst.IndentedBlock | cst.Module):
        return
    body: Sequence[cst.CSTNode] = node.body
    for first, second in pairwise(body):
        if all(_plain(each, source) for each in (first, second)) and _depend(first, second):
            yield source.swap(first, second)


def _plain(node: cst.CSTNode, source: Source) -> bool:
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) > 1:
        return False
    first, last = source.lines(node)
    only = node.body[0]
    stays = isinstance(only, cst.Assign | cst.AugAssign) or m.matches(only, m.Expr(value=m.Call()))
    return stays and first == last


def _depend(first: cst.CSTNode, second: cst.CSTNode) -> bool:
    if _calls(first) and _calls(second):
        return True
    return bool(_bound(first) & _names(second) or _bound(second) & _names(first))


def _calls(node: cst.CSTNode) -> bool:
    return bool(m.findall(node, m.Call()))


def _names(node: cst.CSTNode) -> set[str]:
    return {found.value for found in m.findall(node, m.Name()) if isinstance(found, cst.Name)}


def _bound(node: cst.CSTNode) -> set[str]:
    found = set[str]()
    for target in m.findall(node, m.AssignTarget()):
        found |= _names(target)
    for changed in m.findall(node, m.AugAssign()):
        assert isinstance(changed, cst.AugAssign)
        found |= _names(changed.target)
    return found


_EXCHANGED = (("mean", "sum"), ("max", "min"), ("amax", "amin"), ("argmax", "argmin"), ("any", "all"))
_OTHER_REDUCTION = {one: other for pair in _EXCHANGED for one, other in (pair, pair[::-1])}


def reduction(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The other one."""
    parent = source.parent(node)
    if isinstance(node, cst.Name) and node.value in _OTHER_REDUCTION:
        grandparent = source.parent(parent) if parent is not None else None
        method = isinstance(parent, cst.Attribute) and parent.attr is node
        called = isinstance(grandparent, cst.Call) and grandparent.func is parent
        builtin = isinstance(parent, cst.Call) and parent.func is node and node.value not in ("sum", "mean")
        keyword = isinstance(parent, cst.Arg) and parent.keyword is node and node.value in ("max", "min")
        if (method and called) or builtin or (keyword and _clamps(grandparent, source)):
            yield source.replace(node, _OTHER_REDUCTION[node.value])
    elif isinstance(node, cst.SimpleString) and isinstance(parent, cst.Arg) and parent.keyword is not None:
        value = node.evaluated_value
        if parent.keyword.value == "reduction" and isinstance(value, str) and value in _OTHER_REDUCTION:
            yield source.replace(node, repr(_OTHER_REDUCTION[value]))


def _clamps(call: cst.CSTNode | None, source: Source) -> bool:
    return isinstance(call, cst.Call) and "clamp" in source.text(call.func) and len(call.args) == 1


def stale(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Nothing in place of an assignment to a name that has a value by then."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return
    first, last = source.lines(node)
    target = node.targets[0].target
    if first == last and (isinstance(target, cst.Attribute) or _known(node, target, source)):
        yield source.replace(node, "pass")


def _known(node: cst.Assign, target: cst.BaseExpression, source: Source) -> bool:
    if not isinstance(target, cst.Name):
        return False
    name = m.Name(target.value)
    if m.findall(node.value, name):
        return True
    child: cst.CSTNode = node
    while (parent := source.parent(child)) is not None and not isinstance(child, cst.FunctionDef):
        if isinstance(parent, cst.IndentedBlock | cst.Module):
            body: Sequence[cst.CSTNode] = parent.body
            before = body[: next(i for i, each in enumerate(body) if each is child)]
            if any(m.matches(line, m.SimpleStatementLine()) and _binds(line, name) for line in before):
                return True
        child = parent
    return False


def _binds(line: cst.CSTNode, name: m.Name) -> bool:
    return bool(m.findall(line, m.AssignTarget(target=name)))


def swallowed(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Nothing in place of what raises; as many lines as before."""
    if isinstance(node, cst.Raise) and not source.text(node).startswith("raise NotImplementedError"):
        first, last = source.lines(node)
        yield source.replace(node, "pass" + "\n" * (last - first))


_CLEARS = m.SimpleStatementLine(body=[m.Expr(value=m.Call(func=m.Attribute(attr=m.Name("zero_grad"))))])

_BACKWARD = m.Call(func=m.Attribute(attr=m.Name("backward")))


def zero_grad(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The statement that clears, moved behind the next one of its block that goes backward."""
    if not isinstance(node, cst.IndentedBlock | cst.Module):
        return
    body: Sequence[cst.CSTNode] = node.body
    for position, line in enumerate(body):
        if not m.matches(line, _CLEARS):
            continue
        for later in body[position + 1 :]:
            if isinstance(later, cst.SimpleStatementLine) and m.findall(later, _BACKWARD):
                start, end = source.span(line)
                stop = source.span(later)[1]
                cleared = source.data[start:end]
                if b"\n" not in cleared:
                    yield Edit(start, stop, b"pass" + source.data[end:stop] + b"; " + cleared)
                break
