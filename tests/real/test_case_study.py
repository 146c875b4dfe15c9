"""What README.md and docs/case-study.md say of one real file, said again by running it."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks.real.commands import run
from benchmarks.real.corpus import Program
from codemods.program.lifting import Analysis
from codemods.program.source import read_source

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "case-study.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
FUNCTION = "train_ppo_vectorized"


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan that the page shows, as a file."""
    text = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert text is not None
    path = tmp_path_factory.mktemp("plan") / "split.toml"
    path.write_text(text[1], encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def asked(plan: Path) -> list[str]:
    """The helpers that the plan names."""
    return [name for move in tomllib.loads(plan.read_text())["move"] for name in move["names"]]


@pytest.fixture(scope="session")
def source(studied: Path, plan: Path) -> Path:
    """The file that the plan takes apart."""
    return studied / tomllib.loads(plan.read_text())["source"]


@pytest.fixture(scope="session")
def rows(studied: Path, plan: Path) -> dict[str, dict[str, Any]]:
    """What the plan makes of each helper and of the loop."""
    answer = run("extract", ["--plan", plan, "--root", studied])
    assert answer.document is not None, answer.error
    return {row["name"]: row for row in answer.document["helpers"]}


@pytest.fixture(scope="session")
def split(studied: Path, plan: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree after the plan."""
    tree = tmp_path_factory.mktemp("split") / "tree"
    shutil.copytree(studied, tree)
    command = [sys.executable, "-m", "codemods.extract", "--plan", plan, "--root", tree, "--write"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return tree


def test_file_has_as_many_lines_as_both_pages_say(source: Path) -> None:
    lines = source.read_bytes().count(b"\n")
    assert f"{lines:,} lines" in PAGE
    assert f"{lines:,} lines" in README


def test_helpers_capture_as_many_variables_as_the_page_says(source: Path, asked: list[str]) -> None:
    found = [h for h in Analysis(read_source(source)).helpers if h.outer.qualname == FUNCTION]
    names = [helper.name for helper in found]
    counts = [str(len(helper.captures)) for name, helper in zip(names, found, strict=True) if name in asked]
    assert len(counts) == 9
    assert "nine nested helpers" in PAGE
    assert f"{', '.join(counts[:-1])} and {counts[-1]} variables" in " ".join(PAGE.split())
    assert len(names) == 10
    assert "and a callback inside its loop" in " ".join(PAGE.split())


@pytest.mark.slow
def test_plan_of_the_page_lifts_nine_helpers(rows: dict[str, dict[str, Any]], asked: list[str]) -> None:
    assert len(asked) == 9
    assert {name: rows[name]["code"] for name in asked} == dict.fromkeys(asked)


@pytest.mark.slow
def test_plan_of_the_page_makes_the_loop_a_class(rows: dict[str, dict[str, Any]], plan: Path) -> None:
    name = tomllib.loads(plan.read_text())["loop"]["class"]
    assert rows[name]["status"] == "lifted"


def test_plan_of_the_page_is_the_one_that_make_real_measures(
    programs: dict[str, Program], plan: Path
) -> None:
    (measured,) = (program.plan for program in programs.values() if program.plan is not None)
    assert tomllib.loads(measured.read_text()) == tomllib.loads(plan.read_text())


def test_helper_of_the_readme_gets_the_parameters_that_it_shows(tmp_path: Path) -> None:
    """The captures of `validate` become keyword-only parameters, which its call passes."""
    path = tmp_path / "train.py"
    path.write_text(
        "import torch.nn.functional as F\n\n\n"
        "def train(model, x, target):\n"
        "    def validate(model):\n"
        "        return F.mse_loss(model(x), target)\n"
        "    score = validate(model)\n"
        "    return score\n"
    )
    told = [line[1:].partition("#")[0].strip() for line in README.splitlines() if line.startswith("+")]
    command = [sys.executable, "-m", "codemods.extract", path, "--write"]
    subprocess.run([*command, "--to", tmp_path / "helpers.py"], cwd=ROOT, check=True, capture_output=True)
    after = (tmp_path / "helpers.py").read_text() + path.read_text()
    assert len(told) == 4
    assert [line for line in told if line not in after] == []


@pytest.mark.slow
def test_class_of_the_loop_has_few_fields_and_most_have_a_type(split: Path, plan: Path) -> None:
    """No class has over fifteen fields, and of all fields at most a third may be anything."""
    asked = tomllib.loads(plan.read_text())
    made = ast.parse((split / asked["root"] / asked["loop"]["to"]).read_text())
    fields = [
        [ast.unparse(field.annotation) for field in each.body if isinstance(field, ast.AnnAssign)]
        for each in made.body
        if isinstance(each, ast.ClassDef)
    ]
    kinds = [kind for each in fields for kind in each]
    assert max(map(len, fields)) <= 15
    assert 3 * kinds.count("Any") <= len(kinds)


@pytest.mark.slow
def test_hotpath_finds_as_many_new_places_after_the_split_as_the_page_says(
    studied: Path, split: Path, tmp_path: Path
) -> None:
    """A baseline made before the split is held against the tree after it."""
    where = ["src", "--root", ".", "--baseline", str(tmp_path / "baseline.toml")]
    hotpath = [sys.executable, "-m", "codemods.hotpath", *where]
    options: dict[str, Any] = {"env": {"PYTHONPATH": str(ROOT)}, "capture_output": True, "text": True}
    subprocess.run([*hotpath, "--update-baseline"], cwd=studied, check=True, **options)
    done = subprocess.run([*hotpath, "--output-format", "json"], cwd=split, check=False, **options)
    document = json.loads(done.stdout)
    new = [finding["text"] for finding in document["findings"] if finding["state"] == "new"]
    assert f"made before the split: {len(new)} new, " in PAGE
    assert done.returncode == (1 if new else 0)
