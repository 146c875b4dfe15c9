"""The class of a loop that needs many names: groups of fields, and globals that its method imports."""

import subprocess
import sys
from pathlib import Path

import pytest

from codemods.extract import main
from codemods.plans import loop
from codemods.rewrites.loop.rules import MOST, field_of, groups_of

NAMES = [
    *(f"reward_{n}" for n in "abcd"),
    *(f"lr{n}" for n in range(20)),
    "batches",
    "batch_size",
    "n_batches",
]
SOURCE = f"""\
SCALE = 2


def double(value):
    return SCALE * value


def train(n):
{"".join(f"    {name} = {number}{chr(10)}" for number, name in enumerate(NAMES))}
    total = 0
    for i in range(n):
        total += double(i) + SCALE + {" + ".join(NAMES)}
    return total
"""
PLAN = """\
version = 1
source = "pkg/program.py"
function = "train"
[loop]
class = "Trainer"
to = "pkg/trainer.py"
"""
SHOW = """\
import dataclasses
from pkg import program, trainer
print(program.train(3))
program.double = lambda value: 0
print(program.train(3))
for made in vars(trainer).values():
    if dataclasses.is_dataclass(made):
        print(len(dataclasses.fields(made)), made.__name__)
"""


def carry_out(folder: Path) -> tuple[list[str], int, list[str]]:
    """Output before, exit status, and output after."""
    (folder / "pkg").mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "pkg" / "trainer.py").write_text("")
    (folder / "pkg" / "program.py").write_text(SOURCE)
    (folder / "plan.toml").write_text(PLAN)

    def run() -> list[str]:
        done = subprocess.run([sys.executable, "-c", SHOW], cwd=folder, capture_output=True, check=True)
        return done.stdout.decode().splitlines()

    before = run()
    (folder / "pkg" / "trainer.py").unlink()
    status = main(["--plan", str(folder / "plan.toml"), "--write", "--quiet"])
    return before, status, run() if status == 0 else []


def test_fields_are_grouped_and_own_globals_imported_when_it_runs(tmp_path: Path) -> None:
    before, status, after = carry_out(tmp_path)
    assert status == 0
    assert after[:2] == before[:2]
    sizes = {name: int(size) for size, name in (line.split() for line in after[2:])}
    assert max(sizes.values()) <= MOST
    assert {"Reward", "Batch", "Setup"} < sizes.keys()
    assert sum(sizes.values()) == len(NAMES) + len(sizes) - 1 + len(["n", "total"])


def test_a_global_that_is_not_imported_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = loop.from_statement
    monkeypatch.setattr(loop, "from_statement", lambda home, names, *rest: written(home, names[1:], *rest))
    assert carry_out(tmp_path)[1] == 1


@pytest.mark.parametrize(
    "ending",
    [
        "print(train(2))",
        "def called(f):\n    f()\n    return f\n\n\n@called\ndef main():\n    print(train(2))",
        "class Once:\n    print(train(2))",
    ],
)
def test_a_script_that_trains_as_it_is_loaded_is_loaded_once(tmp_path: Path, ending: str) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "pkg" / "__init__.py").write_text("")
    source = f"print('loaded')\n{SOURCE}\n\n{ending}\n"
    (tmp_path / "pkg" / "program.py").write_text(source)
    (tmp_path / "plan.toml").write_text(PLAN)

    def run() -> bytes:
        command = [sys.executable, "-m", "pkg.program"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout

    before = run()
    assert main(["--plan", str(tmp_path / "plan.toml"), "--write", "--quiet"]) == 0
    assert (tmp_path / "pkg" / "trainer.py").exists()
    assert run() == before


def test_names_of_groups_mean_nothing_else() -> None:
    names = ["amp", *(f"amp_{letter}" for letter in "abcdefgh"), *("x" * count for count in range(1, 9))]
    made = groups_of(dict.fromkeys(names, "Setup"), ())
    assert "Amp" not in made
    assert "AmpState" in made


@pytest.mark.parametrize(
    ("names", "group", "field"),
    [
        (["training_set", "training_set_iterator", "training_set_kwargs"], "Training", "training"),
        (["set_a", "set_b", "set_c"], "SetState", "set_state"),
    ],
    ids=["of two shared words the first", "no field is called like a builtin"],
)
def test_the_first_shared_word_that_is_free_names_a_group(names: list[str], group: str, field: str) -> None:
    made = groups_of(dict.fromkeys([*names, *(c * 3 for c in "abcdefghijklmnop")], "Setup"), ())
    assert next(iter(made)) == group
    assert field_of(group) == field
