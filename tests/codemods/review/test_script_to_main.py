"""A script's own statements, indented into a function: only what is not that is left to read."""

from collections.abc import Callable

from tests.codemods.review.conftest import Files, Reviewed

SCRIPT = """\
import random
rate = 0.1
best = 0
weights = [random.random() for _ in range(3)]
print('ready')
momentum = 0.9
seen, lost = [], []
def train(epoch):
    for index, weight in enumerate(weights):
        weights[index] = weight * momentum - rate
        seen.append(epoch)
def test(epoch):
    global best
    score = sum(weights)
    if score > best:
        best = score
for epoch in range(4):
    train(epoch)
    test(epoch)
    rate = rate / 2
print(best, len(seen))
"""
CALL = "if __name__ == '__main__':\n    main()\n"


def indented(script: str) -> str:
    head, body = script.split("\n", 1)
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{head}\ndef main():\n{lines}{CALL}"


def left_of(reviewed: Reviewed, files: Files, side: str) -> list[str]:
    """The lines that are left, as they stand."""
    return [files[path].splitlines()[line - 1].strip() for path, line in sorted(reviewed.left(side))]


def test_the_new_function_and_its_call_are_all_that_is_left(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    after = {"a.py": indented(SCRIPT).replace("global", "nonlocal")}
    reviewed = compare({"a.py": SCRIPT}, after)
    assert reviewed.status == 1
    assert left_of(reviewed, {"a.py": SCRIPT}, "gone") == ["global best"]
    assert left_of(reviewed, after, "new") == [
        "def main():",
        "nonlocal best",
        "if __name__ == '__main__':",
        "main()",
    ]


def test_the_way_back_is_read_the_same_way(compare: Callable[[Files, Files], Reviewed]) -> None:
    before = {"a.py": indented(SCRIPT).replace("global", "nonlocal")}
    reviewed = compare(before, {"a.py": SCRIPT})
    assert left_of(reviewed, {"a.py": SCRIPT}, "new") == ["global best"]
    assert "def main():" in left_of(reviewed, before, "gone")


def test_a_global_that_was_forgotten_is_left(compare: Callable[[Files, Files], Reviewed]) -> None:
    after = {"a.py": indented(SCRIPT)}
    assert "global best" in left_of(compare({"a.py": SCRIPT}, after), after, "new")


def test_a_changed_statement_is_left(compare: Callable[[Files, Files], Reviewed]) -> None:
    after = {"a.py": indented(SCRIPT.replace("0.9", "0.8"))}
    reviewed = compare({"a.py": SCRIPT}, after)
    assert "momentum = 0.9" in left_of(reviewed, {"a.py": SCRIPT}, "gone")
    assert "momentum = 0.8" in left_of(reviewed, after, "new")


def test_statements_that_changed_places_are_left(compare: Callable[[Files, Files], Reviewed]) -> None:
    drawn = "weights = [random.random() for _ in range(3)]\n"
    after = {"a.py": indented(SCRIPT.replace(drawn, "").replace("def train", f"{drawn}def train", 1))}
    assert left_of(compare({"a.py": SCRIPT}, after), after, "new").count(drawn.strip()) == 1
