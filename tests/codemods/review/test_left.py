"""Changes that may change what a program does: never proven, whatever else moved with them."""

from collections.abc import Callable

import pytest

from tests.codemods.review.cases import read
from tests.codemods.review.conftest import Files, Reviewed

CASES = read("left.md")

BODY = """
def step(value, rate):
    first = value * rate
    second = value + rate
    for index in range(3):
        first = first - index * second
    return first, second, scale
"""
BEFORE = """
def train(model, data, rate):
    seen = 0
    for batch in data:
        loss = model(batch)
        model.zero_grad()
        loss.backward()
        clip(model, 1.0)
        model.step(rate)
        seen += len(batch)
    return seen
"""
AFTER = """
def update(model, batch, rate):
    loss = model(batch)
    model.zero_grad()
    loss.backward()
    clip(model, 0.5)
    model.step(rate)

def train(model, data, rate):
    seen = 0
    for batch in data:
        update(model, batch, rate=rate)
        seen += len(batch)
    return seen
"""


@pytest.mark.parametrize("case", CASES)
def test_something_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*CASES[case])
    assert reviewed.status == 1, reviewed.document


def test_binary_content_in_a_python_file_is_left(compare: Callable[[Files, Files], Reviewed]) -> None:
    assert compare({"a.py": "x = 1\n"}, {"a.py": "x = 1\0\n"}).status == 1


def test_a_new_name_is_told_of_those_who_take_all_names(compare: Callable[[Files, Files], Reviewed]) -> None:
    base = {
        "zoo/__init__.py": "x = 1\n",
        "zoo/a.py": "from . import *\n",
        "b.py": "from zoo import \\\n    *\n",
    }
    reviewed = compare(base, {**base, "zoo/__init__.py": "x = 1\nlen = max\n"})
    [met] = reviewed.document["met"]
    assert (met["path"], met["name"], met["users"]) == ("zoo/__init__.py", "len", ["b.py", "zoo/a.py"])


def test_the_changed_line_alone_is_left(compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(
        {"a.py": "scale = 1\n" + BODY}, {"a.py": "scale = 1\n" + BODY.replace("value + rate", "value - rate")}
    )
    assert reviewed.classes() == {"scale": "same", "step": "changed"}
    assert reviewed.left("gone") == reviewed.left("new") == {("a.py", 5)}


def test_a_split_by_hand_leaves_what_is_not_a_move(compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare({"a.py": BEFORE}, {"a.py": AFTER})
    assert reviewed.classes()["update"] == "new"
    assert ("a.py", 8) in reviewed.left("gone")
    assert not {("a.py", 5), ("a.py", 6), ("a.py", 7)} & reviewed.left("gone")
    assert ("a.py", 6) in reviewed.left("new")


def test_a_function_that_reads_a_name_that_is_gone_is_changed(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    reads = "def f(x):\n    return x + rate\n"
    assert compare({"a.py": f"rate = 1\n{reads}"}, {"a.py": reads}).classes()["f"] == "changed"


def test_a_statement_that_binds_many_names_is_told_and_counted_once(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    guard = "if __name__ == '__main__':\n"
    body = "    net = make()\n    many = 2\n    for i in range(many):\n        print(net(i))\n"
    found = compare({"a.py": guard + body}, {"a.py": f"def main():\n{body}{guard}    main()\n"})
    assert found.document["statements"]["before"] == 5
    # The guard stands where it stood, over something else; the rest is the function's body.
    assert found.left("gone") == {("a.py", 1)}
    assert found.document["left"]["before"] == 1
