"""Programs that are nearly all control flow: names bound and unbound on every path, and helpers' reads."""

from __future__ import annotations

import textwrap

from hypothesis import strategies as st

from tests.codemods.fuzz.choices import Choices, Drawn, chance, pick, weighted

PRELUDE = """\
import random
class E(Exception): pass
class Spent(BaseException): pass
class Fate:
    def __init__(self, seed): self.random, self.fuel, self.values = random.Random(seed), 120, 0
    def tick(self):
        self.fuel -= 1
        if self.fuel < 0: raise Spent
    def new(self):
        self.tick(); self.values += 1
        return self.values
    def flip(self):
        self.tick()
        return self.random.random() < 0.5
    def boom(self):
        if self.flip() and self.flip(): raise E
        return self.flip()
fate = Fate(0)
def new(): return fate.new()
def flip(): return fate.flip()
def boom(): return fate.boom()
def loop(): return range(fate.flip() + fate.flip())
def pair(): return int(fate.flip()), int(fate.flip())
class W:
    def __enter__(self): return fate.new()
    def __exit__(self, *_): return fate.flip()
def show(*values): fate.tick(); print(*[v if isinstance(v, (int, str)) else type(v).__name__ for v in values])
def attempt(f, *arguments):
    global fate
    for seed in range(6):
        fate = Fate(seed)
        print('seed', seed)
        try: f(*arguments)
        except BaseException as e: print('raised', type(e).__name__)
"""

NAMES = ("a", "b", "c")
READER = """\
def {reader}():
    try: show('{name}', {name})
    except NameError: show('{name} is unbound')
    return flip()"""
HOLDERS = {
    "value": "kept = lambda: 0",
    "lambda": "later = lambda: 0",
    "generator": "def steps():\n    yield a\n    show('then', b)\n    yield b\nrunning = iter(())",
    "shared": """\
def bump():
    nonlocal a
    a = new()
def around():
    show('before', a)
    bump()
    show('after', a)""",
    "inner": "def inner():\n    return lambda: show('inner', a, b)\nheld = lambda: 0",
}
"""Kinds of use that outlive the statement they stand in, with what they need."""


class FlowProgram:
    """Writes one program; `deferred` are its kinds of lasting use; a `calm` one leaves no name unbound."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.budget = choices.integer(4, 22)
        self.deferred = [use for use in HOLDERS if chance(choices, 25)]
        self.calm = chance(choices, 50)

    def write(self) -> str:
        """Return the program's text."""
        parameters = [name for name in NAMES if chance(self.choices, 30)]
        self.readers = [f"read_{name}{i}" for name in NAMES for i in range(self.choices.integer(1, 3))]
        helpers = [READER.format(reader=reader, name=reader[5]) for reader in self.readers]
        helpers += [HOLDERS[use] for use in self.deferred]
        bound = [
            f"{name} = new()"
            for name in NAMES
            if self.calm or (name == "a" and "shared" in self.deferred) or chance(self.choices, 50)
        ]
        lines = [*"\n".join(helpers).splitlines(), *bound, *self.block(0, False, 4)]
        call = ", ".join(["outer", *[str(-i) for i in range(len(parameters))]])
        header = f"def outer({', '.join(parameters)}):"
        return f"{PRELUDE}\n{header}\n{self.deeper(lines)}\nattempt({call})\n"

    def deeper(self, lines: list[str]) -> str:
        """Return lines one level deeper, as text."""
        return textwrap.indent("\n".join(lines), "    ")

    def name(self) -> str:
        """Return a name."""
        return pick(self.choices, NAMES)

    def read(self) -> str:
        """Return a call of a helper."""
        return f"{pick(self.choices, self.readers)}()"

    def condition(self) -> str:
        """Return a condition that may bind a name or read one."""
        return weighted(
            self.choices,
            [
                (8, "flip()"),
                (2, f"(flip() and ({self.name()} := new()))"),
                (2, f"(flip() or {self.read()} or ({self.name()} := new()))"),
                (2, f"(({self.name()} := new()) if flip() else {self.read()})"),
                (1, f"(flip() < ({self.name()} := new()) < {self.read()})"),
                (2, "boom()"),
            ],
        )

    def block(self, depth: int, loop: bool, least: int = 1) -> list[str]:
        """Return some statements."""
        lines: list[str] = []
        for _ in range(self.choices.integer(least, least + 3)):
            if self.budget > 0:
                self.budget -= 1
                lines += self.statement(depth, loop)
        return lines or ["pass"]

    def body(self, depth: int, loop: bool) -> list[str]:
        """Return a block one level deeper."""
        return self.deeper(self.block(depth + 1, loop)).splitlines()

    def statement(self, depth: int, loop: bool) -> list[str]:
        """Return one statement, as lines."""
        kinds = [(16, "simple"), (9, "leave")]
        if depth < 4:
            kinds += [(8, "if"), (6, "for"), (4, "while"), (14, "try"), (5, "with")]
        kinds += [(7, use) for use in self.deferred]
        match weighted(self.choices, kinds):
            case "simple":
                return [self.simple()]
            case "leave":
                return [f"if flip(): {self.jump(loop)}" if chance(self.choices, 70) else self.jump(loop)]
            case "if":
                return [
                    f"if {self.condition()}:",
                    *self.body(depth, loop),
                    *self.tail("else", 50, depth, loop),
                ]
            case "for":
                target = pick(self.choices, [*NAMES, "_"])
                return [
                    f"for {target} in loop():",
                    *self.body(depth, True),
                    *self.tail("else", 30, depth, loop),
                ]
            case "while":
                head = pick(self.choices, [f"while {self.condition()}:", "while True:"])
                body = ["    if flip(): break", *self.body(depth, True)]
                return [head, *body, *self.tail("else", 30, depth, loop)]
            case "try":
                return self.attempt(depth, loop)
            case "with":
                more = pick(self.choices, [f" as {self.name()}", "", ", W()"])
                return [f"with W(){more}:", *self.body(depth, loop)]
            case "value":
                reader = pick(self.choices, self.readers)
                return [pick(self.choices, [f"kept = {reader}", "kept()", f"show([{reader}][0]())"])]
            case "lambda":
                return [pick(self.choices, [f"later = lambda: {self.read()}", "later()"])]
            case "generator":
                return self.later("running = steps()", "show(next(running, 0))", "show(*steps())")
            case "shared":
                return [pick(self.choices, ["bump()", "around()"])]
            case _:
                return self.later("held = inner()", "held()", "inner()()")

    def later(self, start: str, go_on: str, at_once: str) -> list[str]:
        """Return something started, something rebound, and the thing gone on with; or a part of that."""
        whole = [start, f"{self.name()} = new()", f"{self.name()} = new()", go_on]
        return pick(self.choices, [whole, whole, [start], [go_on], [at_once]])

    def simple(self) -> str:
        """Return a statement on one line."""
        name = self.name()
        return weighted(
            self.choices,
            [
                (10, self.read()),
                (8, f"{name} = new()"),
                (0 if self.calm else 4, f"del {name}"),
                (4, "boom()"),
                (2, f"{name} = boom() or new()"),
                (2, f"{name} += {self.read()}"),
                (1, f"[({name} := new()) for _ in loop() if flip()]"),
                (1, f"show(sum({self.read()} for _ in loop()))"),
                (1, f"assert flip(), ({name} := new())"),
                (1, f"from math import pi as {name}"),
                (1, f"class {name}: {self.read()}"),
                (1, f"{name}: int"),
                (1, f"show({self.read()}, ({name} := new()), {self.read()})"),
            ],
        )

    def jump(self, loop: bool) -> str:
        """Return a statement that leaves."""
        return pick(self.choices, ["return", "raise E", *(["break", "continue"] if loop else [])])

    def tail(self, word: str, percent: int, depth: int, loop: bool) -> list[str]:
        """Return an `else` or `finally`, or nothing."""
        return [f"{word}:", *self.body(depth, loop)] if chance(self.choices, percent) else []

    def attempt(self, depth: int, loop: bool) -> list[str]:
        """Return a `try` with handlers, `finally`, or both."""
        lines = ["try:", *self.body(depth, loop)]
        handlers = self.choices.integer(0, 2)
        for _ in range(handlers):
            name = pick(self.choices, ["", "", "" if self.calm else f" as {self.name()}"])
            caught = pick(self.choices, ["E", "NameError", "(E, NameError)"])
            lines += [f"except {caught}{name}:", *self.body(depth, loop)]
        if handlers:
            lines += self.tail("else", 30, depth, loop)
        return lines + self.tail("finally", 35 if handlers else 100, depth, loop)


@st.composite
def flows(draw: st.DrawFn) -> str:
    """A strategy for programs of control flow."""
    return FlowProgram(Drawn(draw)).write()
