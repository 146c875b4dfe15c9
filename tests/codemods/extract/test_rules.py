"""Each refusal code refuses its one example and lifts its other, and all are explained."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from codemods.rewrites.refusals import all_rules, explain
from tests.codemods.conftest import Command

RULES = all_rules()
WITH_EXAMPLES = {
    f"{code}-{number}": (code, *pair)
    for code, rule in sorted(RULES.items())
    for number, pair in enumerate(rule.pairs, 1)
    if not pair[0].startswith("#% loop")
}


def arguments(program: str, folder: Path) -> list[str]:
    """Write a program without its directives; the arguments that carry these out."""
    (folder / "pyproject.toml").write_text("")
    (folder / "program.py").write_text(re.sub(r"(?m)^#%.*\n", "", program))
    for name in re.findall(r"(?m)^#% keep (\w+)\n", program):
        (folder / "test_it.py").write_text(f"import program\nprogram.{name} = None\n")
    moved = re.findall(r"(?m)^#% move (.+)\n", program)
    if moved:
        names = ", ".join(f'"{name}"' for name in moved[0].split())
        plan = f'version = 1\nsource = "program.py"\n[[move]]\nto = "lifted.py"\nnames = [{names}]\n'
        (folder / "plan.toml").write_text(plan + '[seams]\ntests = ["."]\n')
        return ["--plan", str(folder / "plan.toml")]
    for name, text in re.findall(r"(?m)^#% file (\S+) (.+)\n", program):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    target = re.search(r"(?m)^#% to(?: (\S+))?\n", program)
    to = ["--to", str(folder / (target[1] or "lifted.py"))] if target else []
    modes = re.findall(r"(?m)^#% (wrapper|captures|cell) (\w+)\n", program)
    return [str(folder / "program.py"), *to, *(word for mode, name in modes for word in (f"--{mode}", name))]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_refused_example_is_refused_with_its_code(name: str, tmp_path: Path, extract: Command) -> None:
    code, refused, _ = WITH_EXAMPLES[name]
    if "[T]" in refused and sys.version_info < (3, 12):
        pytest.skip("type parameters need Python 3.12")
    ran = extract(*arguments(refused, tmp_path), "--output-format", "json", "--write")
    assert code in {helper["code"] for helper in ran.json["helpers"]}
    assert ran.code == 1


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_lifted_example_is_lifted(name: str, tmp_path: Path, extract: Command) -> None:
    given = arguments(WITH_EXAMPLES[name][2], tmp_path)
    before = (tmp_path / "program.py").read_text()
    ran = extract(*given, "--output-format", "json", "--write")
    assert ran.code == 0, ran.out
    assert {helper["status"] for helper in ran.json["helpers"]} in ({"lifted"}, {"moved"})
    assert (tmp_path / "program.py").read_text() != before


@pytest.mark.parametrize("code", sorted(RULES))
def test_every_code_is_explained(code: str, extract: Command) -> None:
    ran = extract("--explain", code)
    assert ran.code == 0
    assert ran.out == explain(code)
    assert RULES[code].way_out in ran.out


def test_an_unknown_code_is_an_error_that_lists_the_known_ones(extract: Command) -> None:
    ran = extract("--explain", "no-such-code")
    assert ran.code == 2
    assert "unknown code no-such-code" in ran.err
    assert "capture-rebound" in ran.err
