"""Each operator by its cases, and what all of them have in common."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import pytest

from golden.mutate.mutants import mutants
from golden.mutate.operators import OPERATORS
from golden.mutate.plan import same_program
from golden.reach.changes import compiled


@dataclass(frozen=True)
class Cases:
    """Of one operator pairs of a text and one that is made of it, and texts of which nothing is made."""

    makes: tuple[tuple[str, str], ...]
    leaves: tuple[str, ...]


CASES = {
    "arguments": Cases(
        makes=(
            ("f(a, b)\n", "f(b, a)\n"),
            ("f(x.a, x.b, 1)\n", "f(x.b, x.a, 1)\n"),
            ("f(old=a, new=b)\n", "f(old=b, new=a)\n"),
        ),
        leaves=("f(a, a)\n", "f(*a, b)\n", "f(a, 1)\n", "isinstance(a, B)\n", "f(a, key=b)\n"),
    ),
    "arithmetic": Cases(
        makes=(
            ("x = a + b\n", "x = a - b\n"),
            ("x = a - b\n", "x = a + b\n"),
            ("x = a * b\n", "x = a / b\n"),
            ("x = a / b\n", "x = a * b\n"),
            ("x = a // b\n", "x = a / b\n"),
            ("x = a ** b\n", "x = a * b\n"),
            ("x = -a\n", "x = +a\n"),
            ("total += loss\n", "total = loss\n"),
            ("total -= loss\n", "total += loss\n"),
        ),
        # Texts and lists are joined, not added.
        leaves=("x = 'a' + b\n", "x = a + [b]\n", "x = f'{a}' + b\n", "text += 'a'\n", "x = a[-1]\n"),
    ),
    "copy": Cases(
        makes=(
            ("y = (a + b).clone()\n", "y = (a + b)\n"),
            ("state = {k: v.clone() for k in v}\n", "state = {k: v for k in v}\n"),
            ("y = net(x.detach(), a).detach().cpu()\n", "y = net(x.detach(), a).cpu()\n"),
        ),
        leaves=("y = repository.clone(url)\n", "y = clone(x)\n", "y = x.detach_()\n"),
    ),
    "comparison": Cases(
        makes=(
            ("ok = a < b\n", "ok = a <= b\n"),
            ("ok = a <= b\n", "ok = a < b\n"),
            ("ok = 0 < (a) > b\n", "ok = 0 < (a) >= b\n"),
            ("ok = a == b\n", "ok = a != b\n"),
            ("ok = a is None\n", "ok = a is not None\n"),
            ("ok = a in b\n", "ok = a not in b\n"),
        ),
        leaves=('if __name__ == "__main__":\n    pass\n', "assert a < b\n"),
    ),
    "condition": Cases(
        makes=(
            ("if ready:\n    go()\n", "if not (ready):\n    go()\n"),
            ("if not ready:\n    go()\n", "if ready:\n    go()\n"),
            ("x = a if best else b\n", "x = a if not (best) else b\n"),
            ("ok = a and b\n", "ok = a or b\n"),
            ("ok = a or b\n", "ok = a and b\n"),
        ),
        # The operator of comparisons negates these; a loop that never ends shows nothing.
        leaves=("if a == b:\n    go()\n", "while busy:\n    go()\n", "assert ready\n"),
    ),
    "constant": Cases(
        makes=(
            ("n = 3\n", "n = 4\n"),
            ("x = h[:-1]\n", "x = h[:-2]\n"),
            ("lr = 0.1\n", "lr = 0.2\n"),
            ("eps = 1e-8\n", "eps = 2e-08\n"),
            ("gain = 0.0\n", "gain = 1.0\n"),
            ("fit(shuffle=True)\n", "fit(shuffle=False)\n"),
        ),
        leaves=("name = 'a'\n", "x: list[3]\n", "from a import b\n", "mask = 0xFF\n"),
    ),
    "default": Cases(
        makes=(
            ("f(a, lr=x)\n", "f(a)\n"),
            ("f(lr=x)\n", "f()\n"),
            ("f(lr=x, momentum=y)\n", "f(momentum=y)\n"),
            ("f(lr=x, momentum=y)\n", "f(lr=x)\n"),
        ),
        leaves=("f(a)\n", "f(**a)\n", "dict(a=b)\n", "replace(a, b=c)\n"),
    ),
    "dropped_call": Cases(
        makes=(
            ("optimizer.zero_grad()\n", "pass\n"),
            ("for x in y:\n    log.append(x)\n", "for x in y:\n    pass\n"),
        ),
        leaves=("x = f()\n", "'text'\n", "yield f()\n", "super().__init__()\n"),
    ),
    "loop": Cases(
        makes=(
            ("for i in range(n):\n    f(i)\n", "for i in range((n) - 1):\n    f(i)\n"),
            ("for i in range(1, n):\n    f(i)\n", "for i in range(1, (n) - 1):\n    f(i)\n"),
        ),
        # Numbers are the operator of constants'.
        leaves=("for i in range(3):\n    f(i)\n", "for i in x:\n    f(i)\n"),
    ),
    "mode": Cases(
        makes=(
            ("model.eval()\n", "model.train()\n"),
            ("self.net.train()\n", "self.net.eval()\n"),
        ),
        leaves=(
            "eval('x')\n",
            "train()\n",
            "df.eval('a + b')\n",
            "trainer.train(a, b)\n",
            "model.train(True)\n",
        ),
    ),
    "no_grad": Cases(
        makes=(
            ("with torch.no_grad():\n    f()\n", "with torch.enable_grad():\n    f()\n"),
            ("@torch.inference_mode()\ndef f(): pass\n", "@torch.enable_grad()\ndef f(): pass\n"),
        ),
        leaves=("with torch.autocast('cpu'):\n    f()\n", "from torch import no_grad\n", "torch.no_grad\n"),
    ),
    "order": Cases(
        makes=(
            ("loss.backward()\noptimizer.step()\n", "optimizer.step()\nloss.backward()\n"),
            ("a()\n# why\nb()\n", "b()\n# why\na()\n"),
        ),
        # What calls nothing; a definition can't come after its use; what spans lines would move others.
        leaves=(
            "a = 1\nb = 2\n",
            "a = x.y\nb = f(z)\n",
            "import a\na.b()\n",
            "a()\nreturn b()\n",
            "a(\n    1)\nb()\n",
        ),
    ),
    "reduction": Cases(
        makes=(
            ("loss = x.mean()\n", "loss = x.sum()\n"),
            ("loss = torch.sum(x)\n", "loss = torch.mean(x)\n"),
            ("n = max(a, b)\n", "n = min(a, b)\n"),
            ("best = x.argmin()\n", "best = x.argmax()\n"),
            ("f(x, reduction='mean')\n", "f(x, reduction='sum')\n"),
        ),
        leaves=("n = sum(x)\n", "mean = 3\n", "from a import mean\n", "n = x.maximum\n"),
    ),
    "stale": Cases(
        makes=(
            ("x = x.relu()\n", "pass\n"),
            ("self.steps = 0\n", "pass\n"),
        ),
        # Without the first one there is no such name.
        leaves=("x = f(y)\n", "a, b = f(c)\n", "def f():\n    global x\n"),
    ),
    "zero_grad": Cases(
        makes=(
            (
                "o.zero_grad()\nl = f(x)\nl.backward()\no.step()\n",
                "pass\nl = f(x)\nl.backward(); o.zero_grad()\no.step()\n",
            ),
        ),
        leaves=("o.step()\no.zero_grad()\n", "l.backward()\n"),
    ),
}
MAKES = [(operator, *case) for operator, cases in CASES.items() for case in cases.makes]
LEAVES = [(operator, text) for operator, cases in CASES.items() for text in cases.leaves]


def made(operator: str, text: str) -> list[str]:
    data = text.encode()
    found = (mutant for mutant in mutants("a.py", data) if mutant.operator == operator)
    return [mutant.applied(data).decode() for mutant in found]


def test_every_operator_has_cases() -> None:
    assert {operator.__name__ for operator in OPERATORS} == CASES.keys()


@pytest.mark.parametrize(("operator", "before", "after"), MAKES)
def test_makes(operator: str, before: str, after: str) -> None:
    found = made(operator, before)
    assert after in found
    assert len(after.splitlines()) == len(before.splitlines())
    for text in found:
        ast.parse(text)


@pytest.mark.parametrize(("operator", "text"), LEAVES)
def test_leaves(operator: str, text: str) -> None:
    assert made(operator, text) == []


def test_what_never_runs_is_left_alone() -> None:
    text = (
        '"""A sum + 1."""\nfrom a import b\nx: int\ndef f(y: "1 + 1" = None) -> 3: ...\nassert x > 1, x + 1\n'
    )
    assert list(mutants("a.py", text.encode())) == []


@pytest.mark.parametrize(
    "text", ["def (", "x = '\n", "# -*- coding: latin-1 -*-\nx = 'é'\n", "x = 1\0\n", "\ufeffx = 1\n"]
)
def test_nothing_of_what_is_no_python(text: str) -> None:
    assert list(mutants("a.py", text.encode())) == []


def test_line_ends_stay() -> None:
    data = "x = 'é'\r\ny = 1 + z\r\n".encode()
    assert "x = 'é'\r\ny = 1 - z\r\n".encode() in {found.applied(data) for found in mutants("a.py", data)}


def test_every_statement_of_python_has_its_lines() -> None:
    text = """
match a + 1:
    case [1, x] if x > 2:
        y = 3
    case _:
        pass
try:
    z = 4
except* (A, f(5)):
    w = 6
async def g():
    async with h(7) as k:
        return 8
while v > 9:
    u = 10
"""
    lines = {found.first: found.needs for found in mutants("a.py", text.encode())}
    assert lines[2] == {2}
    assert lines[3] == {3}
    assert lines[9] == {9}
    assert lines[12] == {12}
    assert set(lines) == {2, 3, 4, 8, 9, 10, 12, 13, 14, 15}


def test_part_of_a_long_expression_has_its_own_lines() -> None:
    text = "x = (\n    a + 1\n    if b\n    else c + 2\n)\n"
    needed = {(found.operator, found.after): found.needs for found in mutants("a.py", text.encode())}
    assert needed["arithmetic", "a - 1"] == {2}
    assert needed["constant", "else c + 3"] == {4}


def test_identity_stays_when_lines_move() -> None:
    data = b"def f(a):\n    return a + 1\n"
    here = {found.name: found.first for found in mutants("a.py", data)}
    there = {found.name: found.first for found in mutants("a.py", b"\n# more\n" + data)}
    assert list(here) == list(there)
    assert {line + 2 for line in here.values()} == set(there.values())


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("x = 1", "x = 1  # why", True),
        ("x = 2 - 2", "x = 0", True),
        ("x = 1", "x = 1.0", False),
        ("x = 0.0", "x = -0.0", False),
        ("x = (1, 2)", "x = (True, 2)", False),
        ("def f(a): return a", "def f(b): return b", False),
        ("def f(): return lambda: 1", "def f(): return lambda: 2", False),
        ("x in {1, 2}", "x in {1, 2.0}", False),
    ],
)
def test_equivalents(left: str, right: str, same: bool) -> None:
    assert same_program(compiled(left.encode()), compiled(right.encode())) is same
