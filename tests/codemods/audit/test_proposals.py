"""What the audit proposes can be pasted in a plan, and is carried out."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from codemods.audit import main
from codemods.audit.build import build_report
from codemods.extract import main as extract

KINDS = ("loss", "optim", "data", "log")
NAMES = [f"{kind}_{number}" for kind in KINDS for number in range(9)]


def _program() -> str:
    lines = ["def train(n):", *(f"    {name} = []" for name in NAMES)]
    for kind in KINDS[:3]:
        lines.append(f"    def do_{kind}(step):")
        lines += [f"        {name}.append(step)" for name in NAMES if name.startswith(kind)]
    lines += ["    for step in range(n):", *(f"        do_{kind}(step)" for kind in KINDS[:3])]
    lines += [f"        print(step, {', '.join(name for name in NAMES if name.startswith('log'))})"]
    return "\n".join(
        [*lines, "    return loss_0", "", "", "if __name__ == '__main__':", "    print(train(2))", ""]
    )


def test_a_loop_with_many_variables_gets_groups_that_a_plan_takes(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(_program())
    out = tmp_path / "report.txt"
    main([str(tmp_path / "train.py"), "--output", str(out)])
    _, head, rest = out.read_text().partition("    [loop.state]\n")
    state = head + rest.partition("\n\n")[0]
    plan = (
        'version = 1\nsource = "train.py"\nfunction = "train"\n'
        '[[move]]\nto = "helpers.py"\nnames = ["*"]\n[loop]\nclass = "Trainer"\nto = "trainer.py"\n'
    )
    (tmp_path / "plan.toml").write_text(plan + state)
    command = [sys.executable, "train.py"]
    before = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    assert extract(["--plan", str(tmp_path / "plan.toml"), "--write", "--quiet"]) == 0
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout == before
    classes = [
        n for n in ast.parse((tmp_path / "trainer.py").read_text()).body if isinstance(n, ast.ClassDef)
    ]
    fields = {c.name: sum(isinstance(s, ast.AnnAssign) for s in c.body) for c in classes}
    assert max(fields.values()) <= 15, fields
    assert {"Loss", "Optim", "Data", "Log"} < fields.keys()


def test_variables_that_are_used_one_by_one_are_joined_until_few_are_left(tmp_path: Path) -> None:
    names = [f"value_{number}" for number in range(40)]
    loop = ["    for step in range(n):", *(f"        {name}.append(step)" for name in names)]
    lines = ["def train(n):", *(f"    {name} = []" for name in names), *loop]
    path = tmp_path / "m.py"
    path.write_text("\n".join([*lines, "    return value_0", ""]))
    (function,) = build_report(path, function="train").functions
    assert function.loop is not None
    groups = [group.names for group in function.loop.groups]
    joined = [name for group in groups for name in group]
    assert sorted(joined) == sorted(set(joined) & {*names, "n"})
    assert len(groups) + len(function.loop.fields) - len(joined) <= 15
    assert max(map(len, groups)) <= 15


def test_few_variables_need_no_groups(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        "def train(n):\n    a = []\n    def h():\n        a.append(n)\n    for _ in range(n):\n        h()\n"
    )
    (function,) = build_report(path).functions
    assert function.loop is not None
    assert (function.loop.fields, function.loop.groups) == (("n", "a"), ())
