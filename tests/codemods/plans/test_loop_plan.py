"""``[loop]`` in a plan: its keys and their errors, seams, and the plan as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codemods.conftest import Command, Execute
from tests.codemods.extract import monolith
from tests.codemods.plans.test_loop import PLAN, carry_out, write
from tests.trees import read
from tests.trees import write as write_files

PROGRAM = """\
from json import dumps as encode


def double(value):
    return 2 * value


def train(n, scale=3):
    rows = []
    best = 0
    offset = 1
    for i in range(n):
        rows.append(encode(double(i) * scale + offset))
        best = max(best, i)
    return rows, best


if __name__ == "__main__":
    print(train(4))
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'to = "looped.py"',
            'to = "looped.py"\nas = 1',
            "loop.as: unknown key; known are at, class, docstring, method, to",
        ),
        ('to = "looped.py"\n', "", "loop.to: is missing"),
        ('to = "looped.py"', 'to = "program.py"', "program.py: exists already"),
        ('to = "looped.py"', 'to = "json.py"', "would hide the module json"),
        ('class = "Trainer"', 'class = "my trainer"', "loop.class: 'my trainer' is not a name"),
        ('class = "Trainer"', 'class = "double"', "the name double is taken"),
        ('class = "Trainer"', 'class = "Trainer"\nmethod = "double"', "would be called double"),
        (
            'class = "Trainer"',
            'class = "Trainer"\nat = 2',
            "only 1 of train's own statements hold",
        ),
        ('function = "train"\n', "", "[loop] needs a function"),
        ('function = "train"', 'function = "double"', "double has no loop"),
        (PLAN[PLAN.index("[loop]") :], "", "neither [[move]] nor [loop]"),
    ],
)
def test_a_faulty_plan_is_one_line_with_its_place(
    old: str, new: str, message: str, tmp_path: Path, extract: Command
) -> None:
    assert old in PLAN
    write(tmp_path, PROGRAM, PLAN.replace(old, new))
    before = read(tmp_path)
    ran = carry_out(tmp_path, extract)
    assert ran.code == 2, ran.out
    assert ran.err.startswith(f"codemods extract: {tmp_path / 'plan.toml'}: "), ran.err
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert read(tmp_path) == before


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path, extract: Command) -> None:
    write(tmp_path, PROGRAM)
    (tmp_path / "looped.py").write_text("KEEP = 1\n")
    ran = carry_out(tmp_path, extract)
    assert ran.code == 2
    assert "looped.py: exists already" in ran.err
    assert (tmp_path / "looped.py").read_text() == "KEEP = 1\n"


def test_a_name_that_a_star_import_would_spread_is_an_error(tmp_path: Path, extract: Command) -> None:
    write(tmp_path, PROGRAM)
    (tmp_path / "other.py").write_text("from program import *\n")
    assert "would spread by a star import" in carry_out(tmp_path, extract).err
    write(tmp_path, PROGRAM, PLAN.replace("Trainer", "_Trainer"))
    assert carry_out(tmp_path, extract).code == 0


def test_a_star_import_of_another_module_with_the_same_name_spreads_nothing(
    tmp_path: Path, extract: Command
) -> None:
    write(tmp_path, PROGRAM)
    package = {"package/__init__.py": "from .program import *\n", "package/program.py": "KEEP = 1\n"}
    write_files(tmp_path, package)
    assert carry_out(tmp_path, extract).code == 0


@pytest.mark.parametrize(("names", "code"), [("KEEP = 1", 0), ("looped = 1", 2)])
def test_a_star_import_of_a_package_may_bring_only_names_that_the_project_has(
    names: str, code: int, tmp_path: Path, extract: Command
) -> None:
    plan = PLAN.replace('"program.py"', '"package/program.py"').replace('"looped.py"', '"package/looped.py"')
    files = {
        "package/__init__.py": "from .names import *\n",
        "package/names.py": f"{names}\n",
        "package/program.py": PROGRAM,
        "pyproject.toml": "",
        "plan.toml": plan,
    }
    write_files(tmp_path, files)
    ran = carry_out(tmp_path, extract)
    assert ran.code == code, ran.err
    assert code == 0 or "looped means something in package/__init__.py already" in ran.err


def test_several_loops_need_a_choice(tmp_path: Path, extract: Command, execute: Execute) -> None:
    program = (
        "def train(n):\n    out = []\n    for i in range(n):\n        out.append(i)\n"
        "    if n:\n        while n:\n            n -= 1\n            out.append(n)\n"
        "    for i in out:\n        print(i)\n    return out\nprint(train(3))\n"
    )
    write(tmp_path, program)
    ran = carry_out(tmp_path, extract)
    assert "choose one with at: 1 (line 3), 2 (line 5), 3 (line 9)" in ran.err
    before = execute(tmp_path, "program.py")
    write(tmp_path, program, PLAN + "at = 2\n")
    assert carry_out(tmp_path, extract).code == 0
    assert "while n:" in (tmp_path / "looped.py").read_text()
    assert execute(tmp_path, "program.py") == before


def test_lines_are_those_of_the_file_before_its_helpers_went(tmp_path: Path, extract: Command) -> None:
    program = (
        "def train(n):\n    out = []\n    def put(i):\n        j = i + 1\n        out.append(j)\n\n"
        "    for i in range(n):\n        put(i)\n    while n:\n        n -= 1\n        put(n)\n"
        "        {more}\n    return out\nprint(train(3))\n"
    )
    move = '[[move]]\nto = "parts.py"\nnames = ["put"]\n'
    write(tmp_path, program.format(more="pass"), PLAN.replace("[loop]", f"{move}[loop]"))
    assert "choose one with at: 1 (line 7), 2 (line 9)" in carry_out(tmp_path, extract).err
    write(
        tmp_path, program.format(more="global G; G = 1"), PLAN.replace("[loop]", f"{move}[loop]") + "at = 2\n"
    )
    ran = carry_out(tmp_path, extract)
    assert "line 12" in ran.out
    assert "global-write" in ran.out


def test_a_name_that_a_test_replaces_keeps_being_read_in_the_source(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    write(tmp_path, PROGRAM, PLAN.replace("[loop]", '[seams]\ntests = ["tests"]\n\n[loop]'))
    (tmp_path / "tests").mkdir()
    test = (
        "from unittest import mock\nimport program\n"
        "with mock.patch('program.encode', lambda value: 'patched'):\n"
        "    with mock.patch.object(program, 'double', lambda value: 1 / 0 if value else 0):\n"
        "        print(program.train(1))\n"
    )
    (tmp_path / "tests" / "test_it.py").write_text(test)
    assert execute(tmp_path, "-c", test) == "(['patched'], 0)\n"
    assert carry_out(tmp_path, extract).code == 0
    assert execute(tmp_path, "-c", test) == "(['patched'], 0)\n"
    assert "import program" not in (tmp_path / "looped.py").read_text()


def project(folder: Path, source: str) -> Path:
    """The trainer of the moves' tests, its loop too going to a file of its own."""
    text = (
        monolith.SOURCE.replace("    for index in range(n_envs):\n        states", "    states")
        .replace("append(create_env_state(index))", "extend(map(make, range(n_envs)))")
        .replace("    results = []\n", "    results = []\n    update = 0.0\n")
        .replace("    states.extend", "    make = lambda index: create_env_state(index)\n    states.extend")
    )
    loop = '\n[loop]\nclass = "Trainer"\nto = "trainer.py"\nmethod = "train_all"\n'
    files = {name: content for name, content in monolith.FILES.items() if name != "pkg/vectorized.py"}
    return write_files(folder, {**files, source: text, "plan.toml": monolith.PLAN + loop}) / "plan.toml"


def test_moves_and_loop_together(tmp_path: Path, extract: Command, execute: Execute) -> None:
    plan = project(tmp_path, "pkg/vectorized.py")
    before = execute(tmp_path, "run.py")
    old = read(tmp_path)
    assert extract("--plan", plan, "--check").code == 1
    assert read(tmp_path).keys() == old.keys()
    ran = extract("--plan", plan, "--write", "--output-format", "json")
    assert ran.code == 0, ran.err + ran.out
    assert execute(tmp_path, "run.py") == before
    assert {"pkg/trainer.py", "pkg/batch_ops.py", "pkg/vectorized.py"} <= {
        f["path"] for f in ran.json["files"]
    }
    assert "def collect_telemetry(" in (tmp_path / "pkg" / "batch_ops.py").read_text()
    # Each of the modules may be the first that is loaded.
    for first in ("trainer", "env_factory", "batch_ops", "evaluation", "actions", "vectorized"):
        execute(tmp_path, "-c", f"import pkg.{first}, pkg.vectorized, pkg.trainer")


def test_with_rest_a_second_run_changes_nothing(tmp_path: Path, extract: Command, execute: Execute) -> None:
    plan = project(tmp_path, "frozen/single.py")
    plan.write_text(
        plan.read_text().replace(
            'source = "pkg/vectorized.py"', 'source = "frozen/single.py"\nrest = "vectorized.py"'
        )
    )
    frozen = read(tmp_path)["frozen/single.py"]
    ran = extract("--plan", plan, "--write")
    assert ran.code == 0, ran.err + ran.out
    execute(tmp_path, "run.py")
    written = read(tmp_path)
    assert written["frozen/single.py"] == frozen
    assert extract("--plan", plan, "--check").code == 0
    assert extract("--plan", plan, "--write").code == 0
    assert read(tmp_path) == written
    (tmp_path / "pkg" / "trainer.py").write_text("# changed by hand\n")
    assert extract("--plan", plan, "--check").code == 1


def test_a_loop_alone_with_rest_and_relative_imports(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    program = (
        "from .parts import half\ndef train(n):\n    out = []\n    for i in range(n):\n"
        "        from .parts import third\n        out.append((half(i), third(i)))\n    return out\n"
    )
    files = {
        "old/__init__.py": "",
        "new/__init__.py": "",
        "old/parts.py": "def half(x):\n    return x / 2\ndef third(x):\n    return x / 3\n",
        "old/program.py": program,
        "pyproject.toml": "",
        "plan.toml": PLAN.replace('"program.py"', '"old/program.py"\nrest = "program.py"\nroot = "new"'),
    }
    ran = extract("--plan", write_files(tmp_path, files) / "plan.toml", "--write")
    assert ran.code == 0, ran.err + ran.out
    results = {execute(tmp_path, "-c", f"import {p}.program as p; print(p.train(4))") for p in ("old", "new")}
    assert len(results) == 1


def test_a_refused_loop_stops_the_plan(tmp_path: Path, extract: Command) -> None:
    plan = project(tmp_path, "pkg/vectorized.py")
    source = tmp_path / "pkg" / "vectorized.py"
    parse = "        results.append(_parse"
    assert parse in source.read_text()
    source.write_text(source.read_text().replace(parse, f"        index = __name__\n{parse}"))
    before = read(tmp_path)
    ran = extract("--plan", plan, "--write")
    assert ran.code == 1
    assert "module-identity: train (loop): the loop reads __name__" in ran.out
    assert "way out: pass the value to the helper" in ran.out
    assert read(tmp_path) == before


def test_a_name_that_only_a_class_changes_is_to_be_renamed(tmp_path: Path, extract: Command) -> None:
    write(tmp_path, PROGRAM.replace("offset", "__offset"), PLAN)
    ran = extract("--plan", tmp_path / "plan.toml")
    assert ran.code == 1
    assert "class-cell: train (loop): __offset means something else inside a class" in ran.out
    assert "way out: give the name a single underscore" in ran.out


@pytest.mark.parametrize("newline", ["\r\n"])
def test_line_ends_encodings_and_the_text_around_survive(
    newline: str, tmp_path: Path, extract: Command, execute: Execute
) -> None:
    head = "# coding: latin-1\nX = [1,\n     2 ]   # odd \xfc  \n\n"
    tail = "\n\nclass   K( object ) :\n\tdef m ( self ):  return  1\nprint(ascii(train(2)))\n"
    body = "def train(n):\n    out = 'x\xe9'\n    for i in range(n):\n        out += '\xf6'  # \xe4\n"
    body += "    return out\n"
    write(tmp_path, "")
    path = tmp_path / "program.py"
    path.write_bytes((head + body + tail).replace("\n", newline).encode("latin-1"))
    before = execute(tmp_path, "program.py")
    ran = carry_out(tmp_path, extract)
    assert ran.code == 0, ran.err + ran.out
    assert execute(tmp_path, "program.py") == before
    written = path.read_bytes().decode("latin-1")
    assert written.startswith(head.split("\n")[0] + newline)
    assert written.endswith(tail.replace("\n", newline))
    assert newline == "\n" or "\n" not in written.replace(newline, "")


WAITING = """\
def train(n):
    def keep(x):
        return x

    def size(x):
        return x + n

    kept = [keep]
    total = 0
    for step in range(n):
        total += size(step)
    return total, kept[0](1)
"""
WAITING_PLAN = """\
version = 1
source = "program.py"
function = "train"

[[move]]
to = "helpers.py"
names = ["keep", "size"]

[loop]
class = "Trainer"
to = "looped.py"
"""


def test_a_loop_whose_plan_has_a_refused_helper_is_not_tried(tmp_path: Path, extract: Command) -> None:
    write(tmp_path, WAITING, WAITING_PLAN)
    ran = extract("--plan", tmp_path / "plan.toml", "--write", "--output-format", "json")
    rows = {row["name"]: (row["status"], row["code"], row["line"]) for row in ran.json["helpers"]}
    assert rows["keep"] == ("refused", "value-use", 2)
    assert rows["size"] == ("lifted", None, 5)
    assert rows.keys() == {"keep", "size"}
    assert ran.code == 1
    assert not (tmp_path / "looped.py").exists()


STAR = """\
from math import *


def train(n):
    for i in range(n):
        print(sqrt(i))


if __name__ == '__main__':
    train(3)
"""
BLOCK = """\
def train(n):
    for i in range(n):
        print(i * rate)


if __name__ == '__main__':
    rate = 0.5
    train(3)
"""
DECLARED = """\
def main():
    global rate
    rate = 0.5
    train(3)


def train(n):
    for i in range(n):
        print(i * rate)


main()
"""


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        pytest.param(STAR, ["star-import", "unbound-reads"], id="star import"),
        pytest.param(BLOCK, ["unbound-reads"], id="main block"),
        pytest.param(DECLARED, ["rebound-globals", "unbound-reads"], id="global statement"),
    ],
)
def test_globals_are_handed_over_where_that_is_accepted(
    program: str, codes: list[str], tmp_path: Path, extract: Command, execute: Execute
) -> None:
    write(tmp_path, program)
    before, plan = execute(tmp_path, "program.py"), tmp_path / "plan.toml"
    for code in codes:
        assert carry_out(tmp_path, extract).json["helpers"][-1]["code"] == code
        plan.write_text(plan.read_text() + f'[[accept]]\ncode = "{code}"\nreason = "a script"\n')
    assert carry_out(tmp_path, extract).code == 0
    assert execute(tmp_path, "program.py") == before


@pytest.mark.parametrize(
    ("program", "replaced", "code"),
    [
        pytest.param(
            STAR.replace("sqrt(i)", "len(globals())"),
            "other",
            "module-identity",
            id="globals of another module",
        ),
        pytest.param(
            STAR.replace("sqrt(i)", "len([i])"), "len", "maybe-unbound", id="a builtin that a test replaces"
        ),
        pytest.param(
            STAR.replace("    print(sqrt(i))", "    later = lambda: sqrt(i)\n        print(later)")
            + "sqrt = abs\n",
            "other",
            "rebound-globals",
            id="what the module binds again",
        ),
    ],
)
def test_what_an_accepted_star_import_does_not_answer_for(
    program: str, replaced: str, code: str, tmp_path: Path, extract: Command
) -> None:
    accepted = "".join(
        f'[[accept]]\ncode = "{each}"\nreason = "known"\n'
        for each in ("star-import", "unbound-reads", "dynamic-names")
    )
    write(tmp_path, program, f'{PLAN}[seams]\ntests = ["tests"]\n{accepted}')
    test = (
        f"import program\n\n\ndef test(monkeypatch):\n    monkeypatch.setattr(program, '{replaced}', max)\n"
    )
    write_files(tmp_path, {"tests/test_program.py": test})
    assert carry_out(tmp_path, extract).json["helpers"][-1]["code"] == code
