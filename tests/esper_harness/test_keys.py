"""A mistyped key is told with the key that was meant, or with all that there are."""

from pathlib import Path

import pytest

from ci.config import ConfigError, load_config
from codemods.hotpath.config import read_config
from codemods.plans.model import PlanError, load_plan
from golden.record import load_run
from golden.trace.errors import UnusableInput

RUN = 'command = ["python"]\nbudget = 1\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('comand = ["python"]', "unknown key comand; did you mean command?"),
        (RUN + '[events]\nfile = "x"', "unknown key events.file; did you mean files?"),
        (RUN + "[variants.args]\nagrs = {}", "unknown key variants.args.agrs; did you mean args?"),
        (RUN + "[variants.a]\nnonsense = 1", "unknown key variants.a.nonsense; known are after, args,"),
        (RUN + "[[tolerance]]\nfeild = 'x'", "unknown key tolerance.0.feild; did you mean field?"),
        (RUN.replace('["python"]', "[]"), "command: say at least one"),
    ],
)
def test_run_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(UnusableInput) as error:
        load_run(path)
    assert message in str(error.value)
    assert "Value error" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.gate]\nrun = ['a']", "[tool.gate] run: unknown key; did you mean runs?"),
        ("[tool.gate]\nzzz = 1", "[tool.gate] zzz: unknown key; known are carried_out, contracts"),
        ("[[tool.gate.imports]]\nmodul = 'a'", "imports.0.modul: unknown key; did you mean module?"),
        ("[tool.gate.throughput]\nrun = 'x'\nbond = 2", "throughput.bond: unknown key; did you mean bound?"),
    ],
)
def test_the_gate(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path)
    assert message in str(error.value)


def test_plans_and_the_checker(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    for text, message in (
        ('version = 1\nsource = "a.py"\nfuncton = "x"', "functon: unknown key; did you mean function?"),
        ('version = 1\nsource = "a.py"', "has neither [[move]] nor [loop]"),
    ):
        plan.write_text(text)
        with pytest.raises(PlanError) as error:
            load_plan(plan, "plan.toml")
        assert message in str(error.value)
        assert "Value error" not in str(error.value)
    (tmp_path / "pyproject.toml").write_text("[tool.codemods.hotpath]\nloop_variable = ['a']\n")
    with pytest.raises(Exception, match="unknown key; did you mean "):
        read_config(tmp_path)
