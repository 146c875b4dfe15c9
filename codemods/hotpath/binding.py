"""Kinds of a function's parameters in a call of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from codemods.hotpath.kinds import HOST, TENSOR, UNKNOWN, Kind, join_all, mapping, seq, tup
from codemods.hotpath.modules import Class, Function, Module
from codemods.hotpath.program import Program
from codemods.hotpath.uses import Uses, uses_of

# Parameters of a module's `forward` that are no tensors.
_NO_INPUT = re.compile(
    r"(?:args|batch_idx|cfg|config|deterministic|device|dim|dtype|epoch|i|key|kwargs|layer|mode|n|name|options|"
    r"state_dict|step|temperature|training|verbose|fn|envs?)$|(?:is|has|n|num|return|use)_|.*_(?:size|dim|fn|flag|name)$",
)
UNNAMED = "**"
"""How what a dict passes by keywords that are not known is called among the keywords of a call."""
Annotated = Callable[[ast.expr | None, Module, Class | None], Kind]


class _Parameter(NamedTuple):
    """One parameter: its name, and what it is where nothing known is passed."""

    name: str
    stated: Kind
    used: Kind | None
    absent: Kind
    guessed: Kind


class Parameters:
    """The parameters of one function, looked at once.

    Attributes:
        first: the name that a method gives to its object, or its class.
        positional: in order.
        named: by keyword only.
        rest: name and element of ``*args``.
        others: name of ``**kwargs``.
    """

    __slots__ = ("first", "named", "names", "others", "positional", "rest")

    def __init__(self, function: Function, annotated: Annotated, program: Program) -> None:
        spec = function.node.args
        arguments = [*spec.posonlyargs, *spec.args]
        defaults: list[ast.expr | None] = [None] * (len(arguments) - len(spec.defaults))
        pairs = list(zip(arguments, [*defaults, *spec.defaults], strict=True))
        self.first: str | None = None
        if function.cls is not None and "staticmethod" not in function.decorators and pairs:
            self.first = pairs.pop(0)[0].arg

        def of(pair: tuple[ast.arg, ast.expr | None]) -> _Parameter:
            return _parameter(function, *pair, annotated, program)

        self.positional = list(map(of, pairs))
        self.named = list(map(of, zip(spec.kwonlyargs, spec.kw_defaults, strict=True)))
        self.rest: tuple[str, Kind] | None = None
        if spec.vararg is not None:
            self.rest = spec.vararg.arg, annotated(spec.vararg.annotation, function.module, None)
        self.others = None if spec.kwarg is None else spec.kwarg.arg
        self.names = {parameter.name for parameter in (*self.positional, *self.named)}

    def bind(
        self, this: Kind | None, args: tuple[Kind, ...], kwargs: Mapping[str, Kind], *, known: bool
    ) -> Iterator[tuple[str, Kind]]:
        """Names and kinds: what is passed, if that is known, else what their annotations say."""
        if self.first is not None:
            yield self.first, UNKNOWN if this is None else this
        given = len(args)
        for at, parameter in enumerate(self.positional):
            passed = args[at] if at < given else kwargs.get(parameter.name)
            yield parameter.name, _kind(parameter, passed, known)
        for parameter in self.named:
            yield parameter.name, _kind(parameter, kwargs.get(parameter.name), known)
        if self.rest is not None:
            name, stated = self.rest
            rest = args[len(self.positional) :] if known else ()
            yield name, tup(rest) if rest else seq(stated)
        if self.others is not None:
            others = {n: kind for n, kind in kwargs.items() if known and n not in self.names}
            anything = join_all(others.values())
            others.pop(UNNAMED, None)
            yield self.others, mapping(UNKNOWN if anything.tag == "bottom" else anything, others)


def _kind(parameter: _Parameter, passed: Kind | None, known: bool) -> Kind:
    if passed is not None and known and not vague(passed):
        return passed
    if parameter.used is not None:
        return parameter.used
    if passed is not None:
        return parameter.stated
    return parameter.absent if known else parameter.guessed


def _parameter(
    function: Function,
    parameter: ast.arg,
    default: ast.expr | None,
    annotated: Annotated,
    program: Program,
) -> _Parameter:
    stated = annotated(parameter.annotation, function.module, function.cls)
    used = _by_use(function, parameter.arg, default, program) if stated.tag == "unknown" else None
    absent = guessed = stated
    if stated.tag == "unknown" and default is not None:
        constant = isinstance(default, ast.Constant) and parameter.arg not in uses(function).tensors
        absent = HOST if constant else UNKNOWN
        nothing = isinstance(default, ast.Constant) and default.value is None
        named = (
            annotated(default, function.module, None) if not isinstance(default, ast.Constant) else UNKNOWN
        )
        absent = Kind("cls", named.of) if named.tag == "obj" else absent  # `actor=MLPActor`: to be made of it
        guessed = UNKNOWN if nothing else absent
    return _Parameter(parameter.arg, stated, used, absent, guessed)


def _by_use(function: Function, name: str, default: ast.expr | None, program: Program) -> Kind | None:
    """Return the kind of a parameter by its uses, or because a module's ``forward`` gets it."""
    if name in uses(function).tensors:
        return TENSOR
    given = function.name == "forward" and function.cls is not None and default is None
    if not given or _NO_INPUT.match(name) or function.cls is None:
        return None
    return TENSOR if program.external_base(function.cls, "torch.nn.") else None


def uses(function: Function) -> Uses:
    """Return the uses of names in a function's text, looked through once."""
    if function.uses is None:
        function.uses = uses_of(function.node, function.text)
    return function.uses


def vague(kind: Kind) -> bool:
    """Tell whether a kind says nothing, or only that something is a container."""
    if kind.tag in ("seq", "map"):
        return vague(kind.of)
    if kind.tag == "tup":
        return not kind.of or any(map(vague, kind.of))
    return kind.tag in ("unknown", "bottom")
