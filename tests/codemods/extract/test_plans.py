"""Plans: helpers of one function to several files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codemods.conftest import Command, Execute
from tests.codemods.extract import monolith
from tests.trees import git, read, write

MODULES = ("env_factory", "batch_ops", "evaluation", "actions", "vectorized")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the trainer and a plan for it."""
    return write(tmp_path, monolith.FILES)


def edit_plan(project: Path, old: str, new: str) -> Path:
    """Change the plan's text."""
    path = project / "plan.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return path


def test_the_report_has_captures_as_symtable_gives_them(project: Path, extract: Command) -> None:
    ran = extract(project / "pkg" / "vectorized.py", "--function", "train", "--output-format", "json")
    assert ran.json["version"] == 1
    helpers = ran.helpers
    assert set(helpers["process_train_batch"]["captures"]) == {"_collect_telemetry_for_batch", "task"}
    assert helpers["_parse_sampled_action"]["captures"] == ["slots", "maths"]
    assert helpers["create_env_state"]["captures"] == [
        "create_model",
        "task",
        "dtype",
        "configure_slot_telemetry",
    ]
    assert helpers["process_fused_val_batch"]["call_sites"] == 1
    assert {helper["status"] for helper in helpers.values()} == {"lifted"}
    assert len(helpers) == 9
    assert ran.code == 0
    inner = extract(project / "pkg" / "vectorized.py", "--output-format", "json").helpers["on_event"]
    assert (inner["status"], inner["code"]) == ("refused", "value-use")


def test_nothing_is_written_without_write(project: Path, extract: Command) -> None:
    before = read(project)
    assert extract("--plan", project / "plan.toml").code == 0
    assert extract("--plan", project / "plan.toml", "--check").code == 1
    assert read(project) == before


def test_a_plan_of_which_a_part_is_refused_says_that_it_wrote_nothing(
    tmp_path: Path, extract: Command
) -> None:
    write(
        tmp_path,
        {
            "train.py": "def outer(n):\n    def h(x):\n        return x\n    def k(x):\n        return h(x)\n"
            "    return [k, h(n)]\n",
            "plan.toml": 'version = 1\nsource = "train.py"\nfunction = "outer"\n[[move]]\nto = "parts.py"\n'
            'names = ["*"]\n',
        },
    )
    ran = extract("--plan", tmp_path / "plan.toml", "--write", "--quiet")
    assert (ran.code, (tmp_path / "parts.py").exists()) == (1, False)
    assert "nothing was written, since a plan is carried out as a whole" in ran.err


def test_the_diff_is_one_that_git_applies(project: Path, extract: Command) -> None:
    patch = extract("--plan", project / "plan.toml", "--output-format", "diff").out
    (project / "change.patch").write_text(patch)
    git(project, "init", "-q")
    git(project, "apply", "change.patch")
    by_git = read(project / "pkg")
    write(project, monolith.FILES)
    for name in MODULES[:-1]:
        (project / "pkg" / f"{name}.py").unlink()
    assert extract("--plan", project / "plan.toml", "--write").code == 0
    assert read(project / "pkg") == by_git


def test_a_seam_that_a_test_patches_keeps_working(project: Path, extract: Command, execute: Execute) -> None:
    source = project / "pkg" / "vectorized.py"
    source.write_text(
        source.read_text()
        .replace("json.dumps([signal", "encode([signal")
        .replace(
            "from pkg.parts import Hub, Signals, get_hub",
            "from json import dumps as encode\n\nfrom pkg.parts import Hub, Signals, get_hub",
        )
    )
    tests = project / "tests"
    tests.mkdir()
    test = (
        "from unittest import mock\n"
        "from pkg.parts import Task\n"
        "from pkg.vectorized import train\n"
        "with mock.patch('pkg.vectorized.encode', lambda values: 'patched'):\n"
        "    assert 'patched' in train(Task())\n"
        "print('passed')\n"
        "open('pkg.vectorized.csv', 'w').close()\n"
    )
    (tests / "test_seam.py").write_text(test)
    edit_plan(project, 'root = "pkg"', 'root = "pkg"\nseams = { tests = ["tests"] }')
    assert execute(project, "-c", test) == "passed\n"
    ran = extract("--plan", project / "plan.toml", "--write")
    assert ran.code == 0, ran.err + ran.out
    assert "seam encode" in ran.out
    assert "seam csv" not in ran.out
    assert execute(project, "-c", test) == "passed\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('root = "pkg"', 'root = "pkg"\nroute = 1', "route: unknown key; did you mean root?"),
        (
            'docstring = "Make envs."',
            'docs = "Make envs."',
            "move.0.docs: unknown key; did you",
        ),
        ("version = 1", "version = 2", "version: "),
        ('function = "train"', 'function = "training"', "no function training"),
        ('"create_env_state"]', '"make_env"]', "there is no helper make_env"),
        ('"process_val_batch"', '"create_env_state"', "create_env_state is moved twice"),
        ('to = "actions.py"', 'to = "../actions.py"', "move.3.to: must be a relative path"),
        ('to = "actions.py"', 'to = "vectorized.py"', "vectorized.py: exists already"),
        (
            "_collect_telemetry_for_batch =",
            "other =",
            "rename names other, which is no helper",
        ),
        ("version = 1", "version = ", "not valid TOML"),
        ('root = "pkg"', 'root = "pkg"\nseams = { tests = ["none"] }', "no such folder: none"),
    ],
)
def test_a_faulty_plan_is_one_line_with_its_place(
    old: str, new: str, message: str, project: Path, extract: Command
) -> None:
    plan = edit_plan(project, old, new)
    before = read(project)
    ran = extract("--plan", plan, "--write")
    assert ran.code == 2
    assert ran.err.startswith(f"codemods extract: {plan}: "), ran.err
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert read(project) == before


def test_targets_that_would_import_each_other_are_an_error(project: Path, extract: Command) -> None:
    plan = edit_plan(project, '"process_val_batch", ', "")
    plan = edit_plan(project, '"_parse_sampled_action"]', '"_parse_sampled_action", "process_val_batch"]')
    plan = edit_plan(
        project, '["process_fused_val_batch"]', '["process_fused_val_batch", "create_env_state"]'
    )
    plan = edit_plan(
        project, ', "create_env_state"]\n\n[[move]]\nto = "batch_ops', ']\n\n[[move]]\nto = "batch_ops'
    )
    assert extract("--plan", plan).code == 0
    plan = edit_plan(project, '"make_telemetry_callback", ', "")
    plan = edit_plan(
        project, '["process_fused_val_batch", ', '["process_fused_val_batch", "make_telemetry_callback", '
    )
    ran = extract("--plan", plan)
    assert ran.code == 2
    assert "would import each other" in ran.err
