"""A lifted helper goes to no file that something lists, or that is in a package which does something."""

from pathlib import Path

import pytest

from tests.codemods.conftest import Command

PROGRAM = """\
def train(n):
    def step(x):
        return x + n
    total = 0
    for i in range(n):
        total += step(i)
    return total
print(train(2))
"""
HEAD = 'version = 1\nsource = "train.py"\nfunction = "train"\n'
MOVE = HEAD + '[[move]]\nto = "made.py"\nnames = ["step"]\n'
LOOP = HEAD + '[loop]\nto = "made.py"\nclass = "Trainer"\n'
ACCEPTED = '[[accept]]\ncode = "loaded-otherwise"\nreason = "nothing runs what it lists"\n'


@pytest.mark.parametrize("plan", [MOVE, LOOP], ids=["lift", "loop"])
def test_what_is_loaded_otherwise_is_accepted(plan: str, tmp_path: Path, extract: Command) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "list.py").write_text("import pkgutil\nnames = list(pkgutil.iter_modules(['.']))\n")
    (tmp_path / "plan.toml").write_text(plan)
    ran = extract("--plan", tmp_path / "plan.toml", "--write")
    assert ran.code == 1
    assert "loaded-otherwise" in ran.out
    assert "list.py lists the files of its folder" in ran.out
    (tmp_path / "plan.toml").write_text(plan + ACCEPTED)
    ran = extract("--plan", tmp_path / "plan.toml", "--write")
    assert ran.code == 0, ran.err + ran.out
    assert "accepted loaded-otherwise (nothing runs what it lists)" in ran.out
    assert (tmp_path / "made.py").exists()


def test_what_is_loaded_otherwise_answers_for_no_effect_of_a_package(
    tmp_path: Path, extract: Command
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "parts.list.py").write_text("import pkgutil\nnames = list(pkgutil.iter_modules(['parts']))\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("print('loaded')\n")
    plan = tmp_path / "plan.toml"
    plan.write_text(MOVE.replace("made.py", "parts/made.py") + ACCEPTED)
    ran = extract("--plan", plan, "--write")
    assert ran.code == 1
    assert "import-effects" in ran.out
    plan.write_text(plan.read_text() + ACCEPTED.replace("loaded-otherwise", "import-effects"))
    assert extract("--plan", plan, "--write").code == 0
