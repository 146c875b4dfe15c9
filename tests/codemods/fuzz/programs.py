"""Programs with nested helpers: they terminate, are deterministic, and print nearly all they compute."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from hypothesis import strategies as st

from tests.codemods.fuzz.choices import Choices, Drawn, Seeded, chance, pick, weighted
from tests.codemods.fuzz.expressions import HABITS, Author
from tests.codemods.fuzz.prelude import PRELUDE
from tests.codemods.fuzz.scopes import HELPERS, NAMES, Kind, Scope, Signature

GLOBALS = ("k", "x", "h")
"""Module-level names that locals and helpers shadow, and lifted helpers may collide with."""


class Program:
    """Writes one program from a source of decisions."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.author = Author(
            choices, {habit for habit, percent in HABITS.items() if chance(choices, percent)}
        )
        self.budget = choices.integer(4, 28)
        self.level = 0

    def write(self) -> str:
        """Return the program's text."""
        module = Scope(kind="module", parent=None, own=set(GLOBALS))
        lines = [f"{name} = {50 + i}" for i, name in enumerate(GLOBALS) if chance(self.choices, 50)]
        module.bound = {line[0] for line in lines} & set(NAMES)
        for number in range(1 if chance(self.choices, 80) else 2):
            lines += ["", *self.entry(module, f"outer{number}")]
        return PRELUDE + "\n".join(lines) + "\n"

    def entry(self, module: Scope, name: str) -> list[str]:
        """Return a module-level function, or a class with a method, that has helpers; and its calls."""
        parameters = [name for name in NAMES[:4] if chance(self.choices, 40)]
        kind: Kind = self.kind(10)
        scope = Scope(
            kind=kind, parent=module, own=set(NAMES) - ({"x"} if chance(self.choices, 60) else set())
        )
        scope.bound = set(parameters)
        self.budget = max(self.budget, 6)
        body = [f"{name} = {i + 1}" for i, name in enumerate(NAMES[:4]) if name not in parameters and i < 3]
        scope.bound |= {line[0] for line in body}
        if self.author.may("globals", 30) and "x" not in parameters:
            body.insert(0, "global x")
            scope.own.discard("x")
        for _ in range(self.choices.integer(0, 3)):
            body += self.helper(scope)
        body += self.block(scope, least=3)
        if kind == "generator":
            body.append(f"yield {self.author.expression(scope)}")
        body.append(f"return {', '.join(self.author.expression(scope, 1) for _ in range(2))}")
        values = ", ".join(str(self.choices.integer(0, 5)) for _ in parameters)
        if self.author.may("methods", 60):
            header = f"{self.prefix(kind)}def run(self{''.join(', ' + name for name in parameters)}):"
            method = textwrap.indent("\n".join([header, *self.indented(body)]), "    ").splitlines()
            lines = [f"class {name.capitalize()}:", "    n = 70", *method]
            target = f"{name.capitalize()}().run"
        else:
            lines = [f"{self.prefix(kind)}def {name}({', '.join(parameters)}):", *self.indented(body)]
            target = name
        calls = [f"attempt({', '.join(filter(None, [target, values]))})"]
        if chance(self.choices, 40):
            calls.append(f"attempt({', '.join([target, *['3' for _ in parameters]])})")
        return [*lines, *calls]

    def kind(self, percent: int, helper: bool = False) -> Kind:
        """Return what kind of function to write."""
        if self.author.may("generators", percent):
            return "generator"
        if self.author.may("coroutines", percent):
            return "coroutine"
        return "maker" if helper and self.author.may("makers", percent) else "plain"

    def prefix(self, kind: Kind) -> str:
        """Return what stands before `def`."""
        return "async " if kind == "coroutine" else ""

    def indented(self, lines: list[str]) -> list[str]:
        """Return `lines` one level deeper; `pass` if there are none."""
        return textwrap.indent("\n".join(lines or ["pass"]), "    ").splitlines()

    def block(self, scope: Scope, least: int = 1) -> list[str]:
        """Return some statements."""
        lines: list[str] = []
        for _ in range(self.choices.integer(least, least + 3)):
            if self.budget <= 0:
                break
            self.budget -= 1
            lines += self.statement(scope)
        return lines or ["pass"]

    def statement(self, scope: Scope) -> list[str]:
        """Return one statement, as lines."""
        options: list[tuple[int, Callable[[Scope], list[str]]]] = [
            (7, self.assign),
            (4, lambda scope: [f"show({self.author.tag()}, {self.author.expression(scope)})"]),
            (7, lambda scope: [f"show({self.author.tag()}, {self.author.some_call(scope, 1)})"]),
            (1, self.leave),
        ]
        if self.level < 3:
            options += [(3, self.branch), (2, self.attempt), (1, self.guard)]
        if scope.depth < 3 and scope.kind != "class":
            options.append((9 if len(scope.helpers) < 3 and scope.depth < 2 else 2, self.helper))
        extra: dict[str, tuple[int, Callable[[Scope], list[str]]]] = {
            "loops": (3, self.loop),
            "match": (3, self.match),
            "callbacks": (3, self.store),
            "classes": (2, self.local_class),
            "deferred": (3, self.defer),
            "deletes": (1, self.delete),
            "lambdas": (2, self.store_lambda),
            "annotations": (1, self.annotate),
            "generators": (3, self.suspend),
        }
        deep = {"loops", "match"} if self.level >= 3 else set()
        options += [option for habit, option in extra.items() if habit in self.author.habits - deep]
        return weighted(self.choices, options)(scope)

    def target(self, scope: Scope) -> str | None:
        """Return a name that this scope may bind, and count it as bound."""
        targets = sorted(scope.own & set(NAMES) | scope.shared) or ["n"] * (scope.kind == "class")
        if not targets:
            return None
        name = pick(self.choices, targets)
        if name not in scope.shared:
            scope.bound.add(name)
        return name

    def assign(self, scope: Scope) -> list[str]:
        """Return a statement that binds a name, in one of the many ways."""
        value = self.author.expression(scope)
        known = sorted((scope.bound & scope.own) | scope.shared)
        if known and chance(self.choices, 30):
            return [f"{pick(self.choices, known)} += {value}"]
        name = self.target(scope)
        if name is None:
            return [f"show({self.author.tag()}, {value})"]
        form = self.choices.integer(0, 12)
        if form == 0 and (other := self.target(scope)):
            return [f"{name}, {other} = {value}, {self.author.expression(scope, 1)}"]
        if form == 1:
            return [f"{name}, *_ = [{value}, 1]"]
        if form == 2:
            return [f"from errno import {pick(self.choices, ['EPERM', 'EIO'])} as {name}"]
        if (
            form == 3
            and "comprehensions" in self.author.habits
            and name in scope.own
            and scope.kind != "class"
        ):
            return [f"show({self.author.tag()}, *[({name} := _v) for _v in range(3)])"]
        return [f"{name} = {value}"]

    def inner_block(self, scope: Scope, least: int = 1) -> list[str]:
        """Return statements that may not run: what they bind does not count afterwards."""
        bound, helpers, callbacks = set(scope.bound), dict(scope.helpers), list(scope.callbacks)
        suspended = list(scope.suspended)
        self.level += 1
        lines = self.block(scope, least)
        self.level -= 1
        if not self.author.may("late", 25):
            scope.helpers, scope.callbacks, scope.suspended = helpers, callbacks, suspended
        scope.bound &= bound
        return lines

    def branch(self, scope: Scope) -> list[str]:
        """Return an `if`."""
        lines = [f"if {self.author.condition(scope)}:", *self.indented(self.inner_block(scope))]
        if chance(self.choices, 40):
            lines += ["else:", *self.indented(self.inner_block(scope))]
        return lines

    def loop(self, scope: Scope) -> list[str]:
        """Return a loop that ends."""
        name = self.target(scope)
        bound = set(scope.bound)
        scope.loops += 1
        body = self.inner_block(scope, 2)
        if chance(self.choices, 15):
            body += [f"if {self.author.condition(scope)}: {pick(self.choices, ['break', 'continue'])}"]
        scope.loops -= 1
        scope.bound &= bound
        if name is not None and chance(self.choices, 75):
            lines = [f"for {name} in range({self.choices.integer(1, 3)}):", *self.indented(body)]
        else:
            lines = [f"while show({self.author.tag()}, {self.author.atom(scope)}) > 4:", *self.indented(body)]
        if chance(self.choices, 15):
            lines += ["else:", *self.indented(self.inner_block(scope))]
        return lines

    def attempt(self, scope: Scope) -> list[str]:
        """Return a `try`."""
        body = self.inner_block(scope)
        if chance(self.choices, 50):
            body.append(f"if {self.author.condition(scope)}: raise Note({self.author.atom(scope)})")
        name = pick(self.choices, ["error", "error", *sorted(scope.own & set(NAMES))])
        handler = [f"show({self.author.tag()}, type({name}).__name__)", *self.inner_block(scope)]
        scope.bound.discard(name)
        caught = pick(self.choices, ["Note", "(Note, NameError)", "Exception"])
        lines = ["try:", *self.indented(body), f"except {caught} as {name}:", *self.indented(handler)]
        if chance(self.choices, 20):
            lines += ["else:", *self.indented(self.inner_block(scope))]
        if chance(self.choices, 30):
            lines += ["finally:", *self.indented(self.inner_block(scope))]
        return lines

    def guard(self, scope: Scope) -> list[str]:
        """Return a `with`, which may swallow an exception."""
        value = self.author.expression(scope, 1)
        name = self.target(scope)
        swallow = ", True" if chance(self.choices, 40) else ""
        binding = f" as {name}" if name else ""
        body = self.inner_block(scope)
        if name and swallow:
            scope.bound.add(name)
        return [f"with Guard({value}{swallow}){binding}:", *self.indented(body)]

    def match(self, scope: Scope) -> list[str]:
        """Return a `match` that captures."""
        if scope.kind == "class" or len(targets := sorted(scope.own & set(NAMES))) < 2:
            return self.assign(scope)
        first, second = pick(self.choices, targets), pick(self.choices, targets)
        if first == second:
            return self.assign(scope)
        subject = f"({self.author.expression(scope, 1)}, {self.author.expression(scope, 1)})"
        before = set(scope.bound)
        pattern = pick(
            self.choices,
            [f"({first}, {second})", f"({first}, 2)", f"[{first}, *_]", f"(int() as {first}, {second})"],
        )
        lines = [f"match {subject}:", f"    case {pattern} if {self.author.condition(scope)}:"]
        lines += self.indented(self.indented(self.inner_block(scope)))
        lines += [f"    case {second}:", *self.indented(self.indented(self.inner_block(scope)))]
        scope.bound &= before
        return lines

    def leave(self, scope: Scope) -> list[str]:
        """Return a `return` or `raise`, under a condition mostly."""
        if scope.kind == "class":
            return ["pass"]
        what = "return" if scope.kind != "plain" else f"return {self.author.expression(scope, 1)}"
        return [f"if {self.author.condition(scope)}: {pick(self.choices, [what, 'raise Note(1)'])}"]

    def store(self, scope: Scope) -> list[str]:
        """Return a statement that keeps a helper as a value."""
        helpers = [helper.name for helper in scope.callable_helpers() if helper.kind == "plain"]
        if not helpers or scope.kind == "class":
            return self.assign(scope)
        helper = pick(self.choices, helpers)
        name = f"kept{len(scope.callbacks)}"
        scope.callbacks.append(name)
        return [f"{name} = {helper}"] if chance(self.choices, 70) else [f"({name},) = [{helper}]"]

    def store_lambda(self, scope: Scope) -> list[str]:
        """Return a lambda that is called later."""
        if scope.kind == "class":
            return ["pass"]
        name = f"kept{len(scope.callbacks)}"
        parameter = pick(self.choices, NAMES)
        inner = Scope(kind="plain", parent=scope, own={parameter}, bound={parameter})
        scope.callbacks.append(name)
        return [f"{name} = lambda {parameter}: {self.author.expression(inner, 2, True)}"]

    def suspend(self, scope: Scope) -> list[str]:
        """Return a step of a generator that other statements come between."""
        if scope.suspended and chance(self.choices, 60):
            name = pick(self.choices, scope.suspended)
            step = pick(self.choices, [f"next({name}, 9)", f"sum({name})"])
            return [f"show({self.author.tag()}, {step})"]
        helpers = [helper for helper in scope.callable_helpers() if helper.kind == "generator"]
        if scope.kind == "class":
            return ["pass"]
        name = f"steps{len(scope.suspended)}"
        scope.suspended.append(name)
        if not helpers:
            inner = Scope(kind="plain", parent=scope, own={"_v"})
            return [f"{name} = ({self.author.expression(inner, 2, True)} for _v in range(2))"]
        helper = pick(self.choices, helpers)
        return [f"{name} = {helper.name}{self.author.arguments(helper, scope, 1)}"]

    def defer(self, scope: Scope) -> list[str]:
        """Return something that calls a helper later, a rebinding, and the call."""
        helpers = scope.callable_helpers()
        if not helpers or scope.kind in ("class", "module"):
            return self.assign(scope)
        helper = pick(self.choices, helpers)
        self.author.tags += 1
        name = f"late{self.author.tags}"
        inner = Scope(kind="plain", parent=scope, own={"_v"})
        call = self.author.call(helper, inner, 0, True)
        later = [
            (f"{name} = lambda: {call}", f"{name}()"),
            (f"{name} = ({call} for _v in range(2))", f"next({name}, 9)"),
            (f"def {name}(): return {call}", f"{name}()"),
            (f"{name} = [lambda _v=0: {call}]", f"{name}[0]()"),
            (f"class {name}:\n    def m(self): return {call}", f"{name}().m()"),
        ]
        bare = f"{name} = {helper.name}{self.author.arguments(helper, scope, 0, True)}"
        if helper.kind == "generator":
            later += [(bare, f"next({name}, 9)"), (f"{bare}\nshow(next({name}, 8))", f"next({name}, 9)")] * 2
        elif helper.kind == "coroutine":
            later += [(bare, f"await {name}" if scope.kind == "coroutine" else f"drive({name})")] * 3
        elif helper.kind == "maker":
            later += [(bare, f"{name}()")] * 4
        made, use = pick(self.choices, later)
        rebound = [f"{name} = {self.choices.integer(10, 19)}" for name in sorted(scope.own & set(NAMES))]
        between = [pick(self.choices, rebound) for _ in range(self.choices.integer(1, 3))] if rebound else []
        if between and chance(self.choices, 30):
            between = [
                pick(self.choices, ["if", "while"]) + f" show({self.author.tag()}, 0) == 0:",
                *self.indented(between),
            ]
            between[-1:] = [between[-1], "    break"] if between[0].startswith("while") else between[-1:]
        return [*made.splitlines(), *between, f"show({self.author.tag()}, {use})"]

    def result(self, scope: Scope) -> str:
        """Return a helper's last statement."""
        if scope.kind != "maker":
            return f"return {self.author.expression(scope)}"
        inner = Scope(kind="plain", parent=scope, own={"_v"})
        value = self.author.expression(inner, 2, True)
        if chance(self.choices, 70):
            return f"return lambda: {value}"
        return f"def made(): return {value}\nreturn made"

    def local_class(self, scope: Scope) -> list[str]:
        """Return a class whose body and method read the enclosing scopes, and a use of it."""
        if scope.kind == "class":
            return ["pass"]
        inner = Scope(kind="class", parent=scope, own=set(), depth=scope.depth + 1)
        body = self.block(inner)
        method = Scope(kind="plain", parent=inner, own={"y"}, depth=scope.depth + 2)
        body += [f"def step(self): return {self.author.expression(method, 2)}"]
        return ["class K:", *self.indented(body), f"show({self.author.tag()}, K().step())"]

    def delete(self, scope: Scope) -> list[str]:
        """Return a `del`."""
        known = sorted(scope.bound & scope.own)
        if not known:
            return ["pass"]
        name = pick(self.choices, known)
        scope.bound.discard(name)
        return [f"del {name}"]

    def annotate(self, scope: Scope) -> list[str]:
        """Return an annotated name, with a value or without."""
        if scope.kind == "class" or not (free := sorted(scope.own & set(NAMES))):
            return ["pass"]
        name = pick(self.choices, free)
        if name in scope.bound and chance(self.choices, 50):
            return [f"{name}: int"]
        value = self.author.expression(scope)
        scope.bound.add(name)
        return [f"{name}: int = {value}"]

    def helper(self, scope: Scope) -> list[str]:
        """Return a nested function and, mostly, a call of it."""
        signature = self.signature(scope)
        parameters = {*signature.positional, *signature.keyword_only}
        extra = {name for name in NAMES if chance(self.choices, 20)}
        inner = Scope(kind=signature.kind, parent=scope, own=parameters | extra, bound=set(parameters))
        inner.depth = scope.depth + 1
        if signature.name not in scope.helpers and self.author.may("recursion", 60):
            scope.helpers[signature.name] = signature
        body = self.helper_header(inner, parameters)
        if chance(self.choices, 60) or "recursion" in self.author.habits:
            body.append(f"show({self.author.tag()}, {', '.join(sorted(parameters)) or 0})")
        level, self.level = self.level, self.level // 2 + inner.depth - 1
        body += (
            self.block(inner, 1) if inner.depth < 2 or "nested" in self.author.habits else self.assign(inner)
        )
        self.level = level
        if signature.kind == "generator":
            body.append(f"yield {self.author.expression(inner)}")
            body += [f"yield {self.author.expression(inner, 1)}"] * self.choices.integer(0, 1)
        else:
            body += ["await Pause()"] * (signature.kind == "coroutine")
            body.append(self.result(inner))
        lines = [f"{self.prefix(signature.kind)}def {signature.name}({self.parameters(signature)}):"]
        lines += self.indented(body)
        scope.helpers[signature.name] = signature
        scope.own.add(signature.name)
        if chance(self.choices, 60):
            lines.append(f"show({self.author.tag()}, {self.author.call(signature, scope, 1)})")
        return lines

    def helper_header(self, inner: Scope, parameters: set[str]) -> list[str]:
        """Return the declarations that stand first in a helper's body."""
        if self.author.may("nonlocal", 50) and (names := sorted(set(inner.outer_names()) - parameters)):
            name = pick(self.choices, names)
            inner.own.discard(name)
            inner.shared.add(name)
            return [f"nonlocal {name}"]
        if self.author.may("globals", 30) and "x" not in parameters:
            inner.own.discard("x")
            inner.shared.add("x")
            return ["global x"]
        return []

    def signature(self, scope: Scope) -> Signature:
        """Return the signature of a helper to be written."""
        free = [name for name in HELPERS if name not in scope.helpers]
        again = self.author.may("redefinition", 40) or not free
        name = pick(self.choices, HELPERS if again else free)
        count = self.choices.integer(0, 2)
        first = self.choices.integer(0, len(NAMES) - 1)
        names = [NAMES[(first + i) % len(NAMES)] for i in range(4)]
        stars = self.author.may("stars", 60)
        return Signature(
            name=name,
            kind=self.kind(40, helper=True),
            positional_only=count if stars and chance(self.choices, 30) else 0,
            positional=tuple(names[:count]),
            required=self.choices.integer(0, count),
            keyword_only=(names[3],) if self.author.may("keywords", 30) else (),
            star=stars and chance(self.choices, 60),
            double_star=stars and chance(self.choices, 40),
        )

    def parameters(self, signature: Signature) -> str:
        """Return the text of a helper's parameters, defaults included."""
        parts = []
        for i, name in enumerate(signature.positional):
            default = str(self.choices.integer(0, 9))
            parts.append(name if i < signature.required else f"{name}={default}")
            if signature.positional_only and i == signature.positional_only - 1:
                parts.append("/")
        if signature.star:
            parts.append("*rest")
        elif signature.keyword_only:
            parts.append("*")
        parts += signature.keyword_only
        if signature.double_star:
            parts.append("**more")
        return ", ".join(parts)


def from_seed(seed: int) -> str:
    """Return the program of a seed."""
    return Program(Seeded(seed)).write()


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A strategy for programs."""
    return Program(Drawn(draw)).write()
