"""Each refusal code refuses its one example and lifts its other, and all are explained."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import codemods.plans.compose
from codemods.analysis.refusals import RULES, explain
from tests.codemods.extract.conftest import Command

assert codemods.plans.compose

WITH_EXAMPLES = sorted(code for code, rule in RULES.items() if rule.refused)


def arguments(program: str, folder: Path) -> tuple[str, list[str]]:
    """A program without its directives, and the options that these stand for."""
    options = ["--to", str(folder / "lifted.py")] if "#% to\n" in program else []
    for mode, name in re.findall(r"(?m)^#% (residual|captures) (\w+)\n", program):
        options += [f"--{mode}", name]
    kept = re.findall(r"(?m)^#% keep (\w+)\n", program)
    (folder / "pyproject.toml").write_text("")
    for name in kept:
        (folder / "test_it.py").write_text(f"import program\nprogram.{name} = None\n")
    return re.sub(r"(?m)^#%.*\n", "", program), options


@pytest.mark.parametrize("code", WITH_EXAMPLES)
def test_the_refused_example_is_refused_with_its_code(code: str, tmp_path: Path, extract: Command) -> None:
    if code == "type-param" and sys.version_info < (3, 12):
        pytest.skip("type parameters need Python 3.12")
    text, options = arguments(RULES[code].refused, tmp_path)
    path = tmp_path / "program.py"
    path.write_text(text)
    ran = extract(path, *options, "--output-format", "json", "--write")
    assert code in {helper["code"] for helper in ran.json["helpers"]}
    assert ran.code == 1


@pytest.mark.parametrize("code", WITH_EXAMPLES)
def test_the_lifted_example_is_lifted(code: str, tmp_path: Path, extract: Command) -> None:
    text, options = arguments(RULES[code].lifted, tmp_path)
    path = tmp_path / "program.py"
    path.write_text(text)
    ran = extract(path, *options, "--output-format", "json", "--write")
    assert ran.code == 0, ran.out
    assert {helper["status"] for helper in ran.json["helpers"]} == {"lifted"}
    assert path.read_text() != text


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
