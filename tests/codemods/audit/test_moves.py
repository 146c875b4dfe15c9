"""What a plan could move of a script whose training stands at its top level, and the plan that is given."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.audit import main
from codemods.extract import main as extract

Tree = Callable[[dict[str, str]], Path]

SCRIPT = """\
import logging
import sys

logger = logging.getLogger(__name__)
RATE = 0.5
EVERY = 2
state = {"best": 0.0}


class Model:
    weight = 1.0

    def step(self, grad):
        self.weight -= RATE * grad


def evaluate(model, xs):
    return sum(x * model.weight for x in xs)


def told(score):
    logger.warning("score %s", score)


def main():
    model = Model()
    for epoch in range(3):
        model.step(0.1 * epoch)
        if epoch % EVERY == 0:
            told(evaluate(model, [1, 2]))
    print(model.weight)


if __name__ == "__main__":
    logging.basicConfig(format="%(name)s %(message)s", stream=sys.stdout)
    main()
"""


def _plan(text: str) -> str:
    return text[text.index("version = 1") :]


def _run(root: Path) -> str:
    return subprocess.run([sys.executable, "train.py"], cwd=root, capture_output=True, text=True).stdout


def _script(make_tree: Tree, text: str = SCRIPT) -> Path:
    root = make_tree({"pyproject.toml": ""})
    (root / "train.py").write_text(text)
    return root


def _derived(make_tree: Tree, header: str, files: dict[str, str]) -> Path:
    """Write a script whose class derives from another, with a header below its imports, beside files."""
    script = SCRIPT.replace("class Model:", "class Model(object):").replace("sys\n", f"sys\n{header}", 1)
    root = _script(make_tree, script)
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root


def _check_carried_out(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *options: str
) -> None:
    monkeypatch.chdir(root)
    before = _run(root)
    assert main(["train.py", "--exit-zero", *options]) == 0
    (root / "plan.toml").write_text(_plan(capsys.readouterr().out))
    assert extract(["--plan", "plan.toml", "--write", "--quiet"]) == 0
    assert "class Model" in (root / "train_parts.py").read_text()
    assert _run(root) == before != ""


def test_the_plan_that_ends_the_report_is_carried_out_and_changes_nothing(
    make_tree: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _check_carried_out(_script(make_tree), capsys, monkeypatch)


HELPER = "\n    def grad(epoch):\n        return model.weight * epoch\n\n"
LONG = SCRIPT.replace(
    "    for epoch in range(3):\n",
    f"{HELPER}    for epoch in range(3):\n" + "        model.step(grad(epoch))\n" * 20,
)


def test_the_plan_takes_the_longest_loop_out_and_helpers_beside_it(
    make_tree: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _script(make_tree, LONG)
    _check_carried_out(root, capsys, monkeypatch)
    assert "class MainLoop" in (root / "main_loop.py").read_text()
    assert "def grad" in (root / "main_helpers.py").read_text()


UNBOUND = LONG.replace("    model = Model()\n", "    if RATE:\n        model = Model()\n")


def test_a_longest_loop_that_is_refused_is_told_with_a_way_out(
    make_tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(_script(make_tree, UNBOUND) / "train.py"), "--exit-zero"]) == 0
    said = capsys.readouterr().out
    assert "in main; refused: unbound-reads" in said
    assert "way out: bind the variable before the loop" in said
    assert "[loop]" not in _plan(said)


def test_a_longest_loop_that_no_plan_can_take_out_is_told_with_the_reason(
    make_tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    # The folder of a script that has an `__init__.py`, too.
    root = _script(make_tree, f"import config\n{LONG}")
    for name in ("__init__.py", "config.py"):
        (root / name).touch()
    assert main([str(root / "train.py"), "--exit-zero"]) == 0
    said = capsys.readouterr().out
    assert "in main; no plan: main_loop.py: train.py imports config as a script does" in said
    assert f"remove {root.name}/__init__.py" in said
    other = root.rename(root.with_name("my-project"))
    assert main([str(other / "train.py"), "--exit-zero"]) == 0
    assert "'my-project' is no name; remove my-project/__init__.py" in capsys.readouterr().out


def test_the_plan_accepts_what_the_audit_is_told_to(
    make_tree: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _script(make_tree, UNBOUND)
    _check_carried_out(root, capsys, monkeypatch, "--accept", "unbound-reads")
    assert "class MainLoop" in (root / "main_loop.py").read_text()
    assert main(["train.py", "--exit-zero", "--accept", "unbound-reads"]) == 0
    assert "accepted: unbound-reads" in capsys.readouterr().out


def test_only_assumptions_are_accepted(make_tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(_script(make_tree) / "train.py"), "--accept", "value-use"]) == 2
    assert "value-use is an exact rule and can't be accepted; these can:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("header", "files"),
    [
        pytest.param(
            "try:\n    from json._old import inf\nexcept:\n    from math import inf\n", {}, id="fallback"
        ),
        pytest.param(
            "", {"zoo.py": "import json\nimport pkgutil\npkgutil.walk_packages(json.__path__)\n"}, id="walk"
        ),
        pytest.param(
            "", {"base.py": "import abc\nclass Base(metaclass=abc.ABCMeta):\n    pass\n"}, id="abstract"
        ),
        pytest.param("", {"run.py": "NAME = 'train'\nexec(open('pretrain.py').read())\n"}, id="ending"),
        pytest.param("", {"check.py": "import re\nre.compile('x')\nNAME = 'train.py'\n"}, id="pattern"),
    ],
)
def test_what_is_of_other_projects_keeps_nothing_from_moving(
    make_tree: Tree,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    header: str,
    files: dict[str, str],
) -> None:
    _check_carried_out(_derived(make_tree, header, files), capsys, monkeypatch)


@pytest.mark.parametrize(
    ("header", "files"),
    [
        pytest.param(
            "try:\n    import base\nexcept:\n    import math as base\n",
            {"base.py": "import train\n"},
            id="own",
        ),
        pytest.param(
            "try:\n    from parts import base\nexcept:\n    import math as base\n",
            {"parts/base.py": "import train\n"},
            id="folder",
        ),
        pytest.param(
            "",
            {"zoo.py": "import train as t\nimport pkgutil\npkgutil.walk_packages(t.__path__)\n"},
            id="walk",
        ),
        pytest.param(
            "", {"base.py": "class Meta(type):\n    pass\nclass Base(metaclass=Meta):\n    pass\n"}, id="meta"
        ),
    ],
)
def test_what_is_of_the_project_may_keep_a_class_from_moving(
    make_tree: Tree, capsys: pytest.CaptureFixture[str], header: str, files: dict[str, str]
) -> None:
    root = _derived(make_tree, header, files)
    main([str(root / "train.py"), "--output-format", "json"])
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)["definitions"]}
    assert found["Model"]["answer"]["status"] == "refused"


def test_each_definition_is_told_with_what_it_needs(
    make_tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(_script(make_tree) / "train.py"), "--output-format", "json"])
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)["definitions"]}
    assert {name: row["answer"]["status"] for name, row in found.items()} == {
        "logger": "refused",
        "RATE": "moved",
        "EVERY": "moved",
        "state": "moved",
        "Model": "moved",
        "evaluate": "moved",
        "told": "refused",
        "main": "kept",
    }
    assert found["Model"]["needs"] == ["RATE"]
    assert (found["evaluate"]["line"], found["evaluate"]["end_line"]) == (17, 18)


def test_the_way_out_of_a_logger_leads_out(
    make_tree: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _script(make_tree)
    monkeypatch.chdir(root)
    main(["train.py"])
    assert "give a logger a name of its own" in capsys.readouterr().out
    _script(make_tree, SCRIPT.replace("getLogger(__name__)", 'getLogger("train")'))
    before = _run(root)
    main(["train.py"])
    plan = _plan(capsys.readouterr().out)
    assert '"logger"' in plan
    assert '"told"' in plan
    (root / "plan.toml").write_text(plan)
    assert extract(["--plan", "plan.toml", "--write", "--quiet"]) == 0
    assert _run(root) == before
    assert "train score" in before


def test_names_that_are_executed_are_named_as_told(
    make_tree: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        "\n\ndef lr(step):\n    return step * 2\n\n\nfor step in range(steps):\n    print(rate * lr(step))\n"
    )
    settings = "rate = 0.1\nsteps = 3\n"
    listed = "keys = [k for k, v in globals().items() if k[0] != '_']\n"
    executed = "exec(open('given.txt').read())\n"
    named = (
        "names = {'rate': rate, 'steps': steps}\nexec(open('given.txt').read(), names)\n"
        "rate, steps = names['rate'], names['steps']\n"
    )
    root = _script(make_tree, settings + listed + body)
    (root / "given.txt").write_text("rate = 0.25")
    monkeypatch.chdir(root)
    main(["train.py"])
    said = capsys.readouterr().out
    assert "no plan: " in said
    assert "name the variables" in said
    _script(make_tree, settings + executed + body)
    before = _run(root)
    main(["train.py"])
    assert "pass an explicit dict to eval or exec" in capsys.readouterr().out
    _script(make_tree, settings + named + body)
    assert _run(root) == before
    main(["train.py"])
    (root / "plan.toml").write_text(_plan(capsys.readouterr().out))
    assert extract(["--plan", "plan.toml", "--write", "--quiet"]) == 0
    assert _run(root) == before


def test_a_plan_that_the_project_forbids_is_not_given(
    make_tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    root = _script(make_tree)
    (root / "reader.py").write_text("import train\nprint(dir(train))\n")
    main([str(root / "train.py")])
    assert "no plan: " in capsys.readouterr().out


def test_names_that_are_only_annotated_or_bound_together_are_no_definitions(
    make_tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    defined = "".join(
        f"\n\ndef {name}():\n    return {value}\n"
        for name, value in zip("fgh", ("limit", "a", 1), strict=True)
    )
    text = f"limit: int\na, b = 1, 2\n{defined}"
    main([str(_script(make_tree, text) / "train.py"), "--output-format", "json"])
    found = {
        row["name"]: row["answer"]["refusal"] for row in json.loads(capsys.readouterr().out)["definitions"]
    }
    assert {name: refusal and refusal["code"] for name, refusal in found.items()} == {
        "f": "unresolved-global",
        "g": "needs-source",
        "h": None,
    }


def test_extract_says_where_a_plan_is_to_be_had(
    make_tree: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(_script(make_tree))
    assert extract(["train.py"]) == 0
    assert "codemods audit train.py" in capsys.readouterr().out
