"""What the report says a lift would do is what ``codemods extract`` does."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from codemods import extract
from codemods.audit import main
from codemods.rewrites.refusals import all_rules

Tree = Callable[[dict[str, str]], Path]

RULES = all_rules()

# Only who writes can tell: the report writes nothing.
WRITERS = {"layout", "not-proven"}
PROGRAMS = {
    f"{code}, {number}, {kind}": text
    for code, rule in RULES.items()
    for number, pair in enumerate(rule.pairs, 1)
    for kind, text in zip(("refused", "lifted"), pair, strict=True)
    if text and "#%" not in text and code not in WRITERS
}


def run(program: Callable[[list[str]], int], path: Path) -> tuple[int, dict[str, object]]:
    out = path.with_suffix(".json")
    status = program([str(path), "--output-format", "json", "--output", str(out)])
    return status, json.loads(out.read_text()) if status != 2 else {"functions": [], "helpers": []}


def answers(helpers: object) -> list[tuple[str, str, str | None]]:
    assert isinstance(helpers, list)
    return sorted((helper["qualname"], helper["status"], helper["code"]) for helper in helpers)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_report_agrees_with_the_lift(program: str, make_tree: Tree) -> None:
    """Syntax that this interpreter doesn't know yet is unusable for both."""
    path = make_tree({"program.py": PROGRAMS[program]}) / "program.py"
    status, report = run(main, path)
    lift_status, lift = run(extract.main, path)
    functions = report["functions"]
    assert isinstance(functions, list)
    told = [
        {**helper, **helper["here"], "code": (helper["here"]["refusal"] or {}).get("code")}
        for function in functions
        for helper in function["helpers"]
    ]
    assert answers(told) == answers(lift["helpers"])
    assert status == lift_status
