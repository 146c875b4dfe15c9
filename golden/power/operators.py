"""The operators: the kinds of mutants, each with its cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import libcst as cst

from golden.power import plants
from golden.power.source import Edit, Source


class Plant(Protocol):
    """Yields the edits that an operator makes at one node."""

    def __call__(self, node: cst.CSTNode, source: Source) -> Iterator[Edit]: ...


@dataclass(frozen=True, slots=True)
class Operator:
    """One kind of mutant.

    ``makes`` are pairs of a text and one that is made of it, ``leaves`` texts of which nothing is made.
    """

    name: str
    what: str
    plant: Plant
    makes: tuple[tuple[str, str], ...]
    leaves: tuple[str, ...]


OPERATORS = (
    Operator(
        "arguments",
        "two neighbouring arguments swapped",
        plants.arguments,
        makes=(
            ("f(a, b)\n", "f(b, a)\n"),
            ("f(x.a, x.b, 1)\n", "f(x.b, x.a, 1)\n"),
            ("f(old=a, new=b)\n", "f(old=b, new=a)\n"),
        ),
        leaves=("f(a, a)\n", "f(*a, b)\n", "f(a, 1)\n", "isinstance(a, B)\n", "f(a, key=b)\n"),
    ),
    Operator(
        "arithmetic",
        "plus for minus, times for divided by, a sum overwritten",
        plants.arithmetic,
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
    Operator(
        "clone",
        "a clone left out: two names for one tensor",
        plants.clone,
        makes=(
            ("y = (a + b).clone()\n", "y = (a + b)\n"),
            ("y = x.clone()\n", "y = x\n"),
            ("state = {k: v.clone() for k in v}\n", "state = {k: v for k in v}\n"),
        ),
        leaves=("y = repository.clone(url)\n", "y = clone(x)\n"),
    ),
    Operator(
        "comparison",
        "a comparison off by one, or the opposite",
        plants.comparison,
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
    Operator(
        "condition",
        "a condition negated, or joined by the other of and/or",
        plants.condition,
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
    Operator(
        "constant",
        "an integer off by one, a fraction doubled, a flag turned",
        plants.constant,
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
    Operator(
        "default",
        "a keyword argument left out: the default instead of the value",
        plants.default,
        makes=(
            ("f(a, lr=x)\n", "f(a)\n"),
            ("f(lr=x)\n", "f()\n"),
            ("f(lr=x, momentum=y)\n", "f(momentum=y)\n"),
            ("f(lr=x, momentum=y)\n", "f(lr=x)\n"),
        ),
        leaves=("f(a)\n", "f(**a)\n", "dict(a=b)\n", "replace(a, b=c)\n"),
    ),
    Operator(
        "detach",
        "a detach left out: gradients flow where none should",
        plants.detach,
        makes=(
            ("y = (a + b).detach()\n", "y = (a + b)\n"),
            ("y = x.detach()\n", "y = x\n"),
            ("y = net(x.detach(), a).detach().cpu()\n", "y = net(x.detach(), a).cpu()\n"),
        ),
        leaves=("y = detach(x)\n", "y = x.detach_()\n"),
    ),
    Operator(
        "dropped_call",
        "a call for its effect left out",
        plants.dropped_call,
        makes=(
            ("optimizer.zero_grad()\n", "pass\n"),
            ("for x in y:\n    log.append(x)\n", "for x in y:\n    pass\n"),
            ("fit(a,\n    b)\n", "pass\n\n"),
        ),
        leaves=("x = f()\n", "'text'\n", "yield f()\n", "super().__init__()\n"),
    ),
    Operator(
        "loop",
        "a loop without its last round; break for continue, and the other way round",
        plants.loop,
        makes=(
            ("for i in range(n):\n    f(i)\n", "for i in range((n) - 1):\n    f(i)\n"),
            ("for i in range(1, n):\n    f(i)\n", "for i in range(1, (n) - 1):\n    f(i)\n"),
            ("for i in x:\n    break\n", "for i in x:\n    continue\n"),
            ("for i in x:\n    continue\n", "for i in x:\n    break\n"),
        ),
        # Numbers are the operator of constants', and a while loop might never end.
        leaves=("for i in range(3):\n    f(i)\n", "while True:\n    break\n", "for i in x:\n    f(i)\n"),
    ),
    Operator(
        "mode",
        "train for eval, eval for train",
        plants.mode,
        makes=(
            ("model.eval()\n", "model.train()\n"),
            ("self.net.train()\n", "self.net.eval()\n"),
            ("self.net.train(mode)\n", "self.net.train(not (mode))\n"),
        ),
        leaves=(
            "eval('x')\n",
            "train()\n",
            "df.eval('a + b')\n",
            "trainer.train(a, b)\n",
            "model.train(True)\n",
        ),
    ),
    Operator(
        "no_grad",
        "no_grad or inference_mode dropped",
        plants.no_grad,
        makes=(
            ("with torch.no_grad():\n    f()\n", "with torch.enable_grad():\n    f()\n"),
            ("@torch.inference_mode()\ndef f(): pass\n", "@torch.enable_grad()\ndef f(): pass\n"),
        ),
        leaves=("with torch.autocast('cpu'):\n    f()\n", "from torch import no_grad\n", "torch.no_grad\n"),
    ),
    Operator(
        "order",
        "two neighbouring statements that depend on each other, swapped",
        plants.order,
        makes=(
            ("loss.backward()\noptimizer.step()\n", "optimizer.step()\nloss.backward()\n"),
            ("old = new\nnew = f(old)\n", "new = f(old)\nold = new\n"),
            ("a()\n# why\nb()\n", "b()\n# why\na()\n"),
        ),
        # Independent statements; a definition can't come after its use; what spans lines would move others.
        leaves=(
            "a = 1\nb = 2\n",
            "a = x.y\nb = f(z)\n",
            "import a\na.b()\n",
            "a()\nreturn b()\n",
            "a(\n    1)\nb()\n",
        ),
    ),
    Operator(
        "reduction",
        "mean for sum, max for min, and the other way round",
        plants.reduction,
        makes=(
            ("loss = x.mean()\n", "loss = x.sum()\n"),
            ("loss = torch.sum(x)\n", "loss = torch.mean(x)\n"),
            ("n = max(a, b)\n", "n = min(a, b)\n"),
            ("best = x.argmin()\n", "best = x.argmax()\n"),
            ("x.clamp(min=0)\n", "x.clamp(max=0)\n"),
            ("f(x, reduction='mean')\n", "f(x, reduction='sum')\n"),
        ),
        leaves=("n = sum(x)\n", "mean = 3\n", "from a import mean\n", "n = x.maximum\n"),
    ),
    Operator(
        "stale",
        "an assignment left out: the variable keeps what it had",
        plants.stale,
        makes=(
            ("x = x.relu()\n", "pass\n"),
            ("best = 0\nfor s in scores:\n    best = s\n", "best = 0\nfor s in scores:\n    pass\n"),
            ("self.steps = 0\n", "pass\n"),
        ),
        # Without the first one there is no such name.
        leaves=("x = f(y)\n", "a, b = f(c)\n", "def f():\n    global x\n"),
    ),
    Operator(
        "swallowed",
        "an exception swallowed",
        plants.swallowed,
        makes=(
            ("if bad:\n    raise ValueError(x)\n", "if bad:\n    pass\n"),
            (
                "try:\n    f()\nexcept E:\n    g()\n    raise\n",
                "try:\n    f()\nexcept E:\n    g()\n    pass\n",
            ),
        ),
        leaves=("try:\n    f()\nexcept E:\n    pass\n", "def f():\n    raise NotImplementedError\n"),
    ),
    Operator(
        "zero_grad",
        "gradients cleared after the backward pass instead of before it",
        plants.zero_grad,
        makes=(
            (
                "o.zero_grad()\nl = f(x)\nl.backward()\no.step()\n",
                "pass\nl = f(x)\nl.backward(); o.zero_grad()\no.step()\n",
            ),
        ),
        leaves=("o.step()\no.zero_grad()\n", "l.backward()\n"),
    ),
)
