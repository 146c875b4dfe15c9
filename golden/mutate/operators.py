"""The operators: the kinds of mutants. An edit keeps every line where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import libcst as cst
from libcst import matchers as m

from golden.mutate.source import Edit, Source

# One kind of mutant: yields the edits that it makes at one node.
Operator = Callable[[cst.CSTNode, Source], Iterator[Edit]]
OPERATORS: list[Operator] = []


def _operator(edits: Operator) -> Operator:
    OPERATORS.append(edits)
    return edits


def _renamed(node: cst.CSTNode, source: Source, names: Mapping[str, str]) -> Iterator[Edit]:
    """Yield the other method, where a table has the one that is called."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=name) as method)) if name in names:
            yield source.replace(method, names[name])


_REFERENCES = (cst.Name, cst.Attribute, cst.Subscript)

_TYPED = ("isinstance", "issubclass", "getattr", "hasattr", "setattr", "print")


@_operator
def arguments(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Swap two neighbouring arguments that are names, given in the same way."""
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


@_operator
def arithmetic(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Put plus for minus, times for divided by, or overwrite instead of adding."""
    if isinstance(node, cst.BinaryOperation | cst.AugAssign):
        parts = (node.value,) if isinstance(node, cst.AugAssign) else (node.left, node.right)
        if not any(isinstance(part, _JOINED) for part in parts):
            yield from source.exchanged(node.operator, _ARITHMETIC)
    elif isinstance(node, cst.Minus) and not _of_number(node, source):
        yield source.token(node, "-", "+")


def _of_number(node: cst.Minus, source: Source) -> bool:
    operation = source.parent(node)
    return isinstance(operation, cst.UnaryOperation) and isinstance(operation.expression, cst.Integer)


@_operator
def copy(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Leave out a clone or a detach: two names for one tensor, gradients where none should flow."""
    match node:
        case cst.Call(func=cst.Attribute(dot=dot, attr=cst.Name(value="clone" | "detach")), args=[]):
            yield Edit(source.span(dot)[0], source.span(node)[1], b"")


_COMPARISONS: dict[type[cst.CSTNode], tuple[str, str]] = {
    cst.LessThan: ("<", "<="),
    cst.LessThanEqual: ("<=", "<"),
    cst.GreaterThan: (">", ">="),
    cst.GreaterThanEqual: (">=", ">"),
    cst.Equal: ("==", "!="),
    cst.NotEqual: ("!=", "=="),
    cst.Is: ("is", "is not"),
    cst.IsNot: ("is not", "is"),
    cst.In: ("in", "not in"),
    cst.NotIn: ("not in", "in"),
}


@_operator
def comparison(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Make a comparison off by one, or the opposite."""
    yield from source.exchanged(node, _COMPARISONS)


@_operator
def condition(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Negate a condition, or join it by the other of and/or."""
    yield from source.exchanged(node, {cst.And: ("and", "or"), cst.Or: ("or", "and")})
    if isinstance(node, cst.If | cst.IfExp):
        test = node.test
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            yield source.replace(test, source.text(test.expression))
        elif not isinstance(test, cst.Comparison | cst.BooleanOperation):
            yield source.replace(test, f"not ({source.text(test)})")


@_operator
def constant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Make an integer off by one, double a fraction, turn a flag."""
    if isinstance(node, cst.Integer) and node.value.isdecimal():
        yield source.replace(node, str(int(node.value) + 1))
    elif isinstance(node, cst.Float):
        value = float(node.value)
        yield source.replace(node, repr(value * 2 if value else 1.0))
    elif isinstance(node, cst.Name) and node.value in ("True", "False"):
        yield source.replace(node, str(node.value == "False"))


# Of these a keyword is a part, not an option.
_KEYWORDS_ARE_PARTS = ("dict", "replace")


@_operator
def default(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Leave out a keyword argument: the default instead of the value."""
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


@_operator
def dropped_call(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Leave out a call for its effect; as many lines as before."""
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        text = source.text(node)
        if not text.startswith("super()"):
            first, last = source.lines(node)
            if first == last:
                yield source.replace(node, "pass")


_RANGE = m.Call(func=m.Name("range"))


@_operator
def loop(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Leave out the last round of a loop."""
    if isinstance(node, cst.Call) and m.matches(node, _RANGE) and 1 <= len(node.args) <= 2:
        bound = node.args[-1].value
        if not isinstance(bound, cst.Integer) and not node.args[-1].star:
            yield source.replace(bound, f"({source.text(bound)}) - 1")


@_operator
def mode(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Put train for eval, eval for train."""
    if isinstance(node, cst.Call) and not node.args:
        yield from _renamed(node, source, {"train": "eval", "eval": "train"})


@_operator
def no_grad(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Put enable_grad for no_grad or inference_mode."""
    if isinstance(node, cst.Call) and not node.args:
        yield from _renamed(node, source, dict.fromkeys(("no_grad", "inference_mode"), "enable_grad"))


@_operator
def order(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Swap two neighbouring statements of a block that call something, which may depend on each other."""
    if not isinstance(node, cst.IndentedBlock | cst.Module):
        return
    body: Sequence[cst.CSTNode] = node.body
    for first, second in pairwise(body):
        if all(_plain(each, source) and m.findall(each, m.Call()) for each in (first, second)):
            yield source.swap(first, second)


def _plain(node: cst.CSTNode, source: Source) -> bool:
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) > 1:
        return False
    first, last = source.lines(node)
    only = node.body[0]
    stays = isinstance(only, cst.Assign | cst.AugAssign) or m.matches(only, m.Expr(value=m.Call()))
    return stays and first == last


_EXCHANGED = (("mean", "sum"), ("max", "min"), ("amax", "amin"), ("argmax", "argmin"), ("any", "all"))
_OTHER_REDUCTION = {one: other for pair in _EXCHANGED for one, other in (pair, pair[::-1])}


@_operator
def reduction(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Put mean for sum, max for min, and the other way round."""
    yield from _renamed(node, source, _OTHER_REDUCTION)
    match node:
        case cst.Call(func=cst.Name(value=name) as function) if name in ("max", "min", "any", "all"):
            yield source.replace(function, _OTHER_REDUCTION[name])
        case cst.Arg(keyword=cst.Name(value="reduction"), value=cst.SimpleString() as text):
            value = text.evaluated_value
            if isinstance(value, str) and value in _OTHER_REDUCTION:
                yield source.replace(text, repr(_OTHER_REDUCTION[value]))


@_operator
def stale(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Leave out an assignment to a name that has a value by then, which it keeps."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return
    first, last = source.lines(node)
    target = node.targets[0].target
    keeps = isinstance(target, cst.Name) and m.findall(node.value, m.Name(target.value))
    if first == last and (isinstance(target, cst.Attribute) or keeps):
        yield source.replace(node, "pass")


_CLEARS = m.SimpleStatementLine(body=[m.Expr(value=m.Call(func=m.Attribute(attr=m.Name("zero_grad"))))])

_BACKWARD = m.Call(func=m.Attribute(attr=m.Name("backward")))


@_operator
def zero_grad(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Clear gradients after the next backward pass of the block instead of before it."""
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
