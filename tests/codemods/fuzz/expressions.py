"""Expressions of a generated program: integers all, most of them printed on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.codemods.fuzz.choices import Choices, chance, pick, weighted
from tests.codemods.fuzz.scopes import NAMES, Scope, Signature

HABITS = {
    "annotations": 15,
    "callbacks": 30,
    "classes": 30,
    "comprehensions": 60,
    "conditional": 20,
    "coroutines": 15,
    "deferred": 50,
    "deletes": 12,
    "generators": 35,
    "globals": 15,
    "keywords": 40,
    "lambdas": 30,
    "late": 15,
    "loops": 60,
    "makers": 25,
    "match": 25,
    "methods": 25,
    "nested": 50,
    "nonlocal": 15,
    "recursion": 12,
    "redefinition": 8,
    "risky": 15,
    "stars": 20,
    "unpacking": 12,
    "walrus": 40,
}
"""What a program may do, and in how many of 100: few at once, so that they meet in every combination."""


@dataclass(slots=True)
class Author:
    """Writes expressions; `habits` are those that this program has."""

    choices: Choices
    habits: set[str] = field(default_factory=set)
    tags: int = 0

    def may(self, habit: str, percent: int = 100) -> bool:
        """Tell whether to do a habitual thing here."""
        return habit in self.habits and chance(self.choices, percent)

    def tag(self) -> str:
        """Return a literal that identifies a place in the output."""
        self.tags += 1
        return f"'t{self.tags}'"

    def name(self, scope: Scope) -> str:
        """Return a name to read."""
        if self.may("risky", 8):
            return pick(self.choices, NAMES)
        known = scope.readable()
        return pick(self.choices, known) if known else str(self.choices.integer(0, 9))

    def expression(self, scope: Scope, depth: int = 2, simple: bool = False) -> str:
        """Return an expression for an integer; a `simple` one binds nothing and has no line breaks."""
        if depth <= 0:
            return self.atom(scope)
        options: list[tuple[int, Callable[[], str]]] = [
            (6, lambda: self.atom(scope)),
            (3, lambda: f"{self.expression(scope, depth - 1, simple)} {self.operator()} {self.atom(scope)}"),
            (4, lambda: f"show({self.tag()}, {self.expression(scope, depth - 1, simple)})"),
            (6, lambda: self.some_call(scope, depth - 1, simple)),
            (1, lambda: self.conditional(scope, depth, simple)),
            (1, lambda: f"len(f'{{{self.name(scope)} + 0}}')"),
        ]
        if "walrus" in self.habits and scope.kind != "class" and not simple:
            options.append((2, lambda: self.walrus(scope, depth)))
        if "comprehensions" in self.habits:
            options.append((2, lambda: self.comprehension(scope, depth, simple)))
        if "lambdas" in self.habits:
            options.append((1, lambda: self.immediate_lambda(scope, depth)))
        if "callbacks" in self.habits:
            options.append((2, lambda: self.callback(scope, depth)))
        if scope.lists:
            options.append((1, lambda: f"len({pick(self.choices, sorted(scope.lists))})"))
        return weighted(self.choices, options)()

    def operator(self) -> str:
        """Return an operator that keeps integers small."""
        return pick(self.choices, ["+", "-", "+", "^"])

    def atom(self, scope: Scope) -> str:
        """Return a name or a number."""
        return self.name(scope) if chance(self.choices, 75) else str(self.choices.integer(0, 9))

    def condition(self, scope: Scope) -> str:
        """Return a condition that is sometimes true."""
        compare = pick(self.choices, ["> 2", "% 2 == 0", "!= 3", "< 6"])
        return f"{self.expression(scope, 1)} {compare}" if chance(self.choices, 80) else "True"

    def conditional(self, scope: Scope, depth: int, simple: bool) -> str:
        """Return a conditional expression."""
        yes, no = self.expression(scope, depth - 1, True), self.expression(scope, depth - 1, True)
        return f"({yes} if {self.expression(scope, 1, simple)} > 2 else {no})"

    def walrus(self, scope: Scope, depth: int) -> str:
        """Return a named expression, which binds in the scope's own function."""
        value = self.expression(scope, depth - 1)
        targets = sorted(scope.own | (scope.shared if "nonlocal" in self.habits else set()))
        if not targets:
            return value
        target = pick(self.choices, targets)
        if target in scope.own:
            scope.bound.add(target)
        return f"({target} := {value})"

    def comprehension(self, scope: Scope, depth: int, simple: bool) -> str:
        """Return the sum of a comprehension whose variable may shadow anything."""
        variable = pick(self.choices, NAMES)
        source = f"range({self.choices.integer(1, 3)})"
        inner = Scope(kind="plain", parent=scope, own={variable}, bound={variable})
        element = self.expression(inner, depth - 1, True)
        if self.may("walrus", 25) and scope.kind not in ("class", "module") and not simple:
            targets = sorted(scope.own - {variable})
            if targets:
                element = f"({pick(self.choices, targets)} := {element})"
        brackets = pick(self.choices, ["sum([{}])", "sum({})", "max({{{}}})", "len({{{}: 0 {}}})"])
        if brackets.startswith("len"):
            return f"len({{{element}: 0 for {variable} in {source}}})"
        return brackets.format(f"{element} for {variable} in {source}")

    def immediate_lambda(self, scope: Scope, depth: int) -> str:
        """Return a lambda that is called at once."""
        parameter = pick(self.choices, NAMES)
        inner = Scope(kind="plain", parent=scope, own={parameter}, bound={parameter})
        body = self.expression(inner, depth - 1, True)
        return f"(lambda {parameter}: {body})({self.atom(scope)})"

    def callback(self, scope: Scope, depth: int) -> str:
        """Return a use of a helper as a value, or of what has been stored before."""
        if scope.callbacks and chance(self.choices, 50):
            return f"call({pick(self.choices, scope.callbacks)}, {self.atom(scope)})"
        helpers = [helper for helper in scope.callable_helpers() if helper.kind == "plain"]
        if not helpers:
            return self.atom(scope)
        shape = pick(self.choices, ["call({}, {})", "sum(map({}, [{}]))", "call(*[{}, {}])"])
        return shape.format(pick(self.choices, helpers).name, self.expression(scope, depth - 1, True))

    def some_call(self, scope: Scope, depth: int, simple: bool = False) -> str:
        """Return a call of a helper that can be seen here, if there is one."""
        helpers = scope.callable_helpers()
        return self.call(pick(self.choices, helpers), scope, depth, simple) if helpers else self.atom(scope)

    def call(self, helper: Signature, scope: Scope, depth: int, simple: bool = False) -> str:
        """Return a call of `helper` with arguments that fit, nearly always."""
        call = f"{helper.name}{self.arguments(helper, scope, depth, simple)}"
        if helper.kind == "generator":
            return pick(self.choices, ["sum({})", "len([*{}])", "next({}, 0)"]).format(call)
        if helper.kind == "coroutine":
            return f"(await {call})" if scope.kind == "coroutine" else f"drive({call})"
        return f"{call}()" if helper.kind == "maker" else call

    def arguments(self, helper: Signature, scope: Scope, depth: int, simple: bool = False) -> str:
        """Return the argument list of a call, brackets included."""
        required, most = helper.required, len(helper.positional)
        count = required if chance(self.choices, 70) else self.choices.integer(required, most)
        values = [self.expression(scope, depth, simple) for _ in range(count)]
        by_name = helper.positional_only if self.may("keywords", 40) else count
        parts = [
            value if i < max(by_name, helper.positional_only) else f"{helper.positional[i]}={value}"
            for i, value in enumerate(values)
        ]
        if all("=" not in part.partition("(")[0] for part in parts) and self.may("unpacking", 30) and parts:
            parts[-1] = f"*[{parts[-1]}]"
        elif helper.star and count == most and chance(self.choices, 40) and by_name == count:
            parts.append(self.expression(scope, depth, simple))
        parts += [f"{name}={self.expression(scope, depth, simple)}" for name in helper.keyword_only]
        if helper.double_star and chance(self.choices, 40):
            free = [name for name in NAMES if name not in (*helper.positional, *helper.keyword_only)]
            parts.append(f"{pick(self.choices, free)}={self.atom(scope)}")
        if self.may("unpacking", 10):
            parts.append(f"**{{{pick(self.choices, NAMES)!r}: 1}}")
        return f"({', '.join(parts)})"
