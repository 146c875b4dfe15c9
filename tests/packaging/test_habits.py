"""Habits of all commands: versions, names in their usage, options that mean one thing."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from ci.__main__ import main as golden_gate
from ci.__main__ import program as gate_program
from codemods.__main__ import main as codemods
from codemods.__main__ import program as codemods_program
from golden.cli import main as golden
from golden.cli import program as golden_program

MAINS = {"codemods": codemods, "golden": golden, "golden-gate": golden_gate}
PROGRAMS: dict[str, click.Group] = {
    "codemods": codemods_program,
    "golden": golden_program,
    "golden-gate": gate_program,
}


def commands() -> Iterator[tuple[str, str]]:
    for name, program in PROGRAMS.items():
        for command in program.list_commands(click.Context(program)):
            yield name, command


@pytest.mark.parametrize("name", MAINS)
def test_version(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert MAINS[name](["--version"]) == 0
    assert capsys.readouterr().out == f"{name} {version('esper-harness')}\n"


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_command_tells_the_version(name: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert MAINS[name]([command, "--version"]) == 0
    assert capsys.readouterr().out.endswith(f" {version('esper-harness')}\n")


@pytest.mark.parametrize("name", MAINS)
def test_without_a_command_the_usage_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert MAINS[name]([]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"Usage: {name} [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_usage_has_the_name_that_was_called(
    name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert MAINS[name]([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"Usage: {name} {command} ")
    assert name != "codemods" or "Exit status: 0 " in told
    assert MAINS[name]([command, "--no-such-option"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith((f"{name} {command}: ", f"{name}: "))
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "typed", "meant"),
    [("codemods", "extrat", "extract"), ("golden", "verfy", "verify"), ("golden-gate", "rum", "run")],
)
def test_a_mistyped_command(name: str, typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert MAINS[name]([typed]) == 2
    error = capsys.readouterr().err.lower()
    assert error.count("\n") == 1
    assert "did you mean" in error
    assert meant in error


def test_o_is_always_output() -> None:
    for name, command in commands():
        found = PROGRAMS[name].get_command(click.Context(PROGRAMS[name]), command)
        assert found is not None
        for parameter in found.params:
            if "-o" in parameter.opts:
                assert "--output" in parameter.opts, (name, command)


@pytest.mark.parametrize(
    ("name", "command", "told"),
    [
        ("golden", ["list"], "no run files in {root}"),
        ("codemods", ["review", "--base", "x"], "not a git repository"),
        ("golden-gate", ["run"], "{root}/pyproject.toml"),
    ],
)
def test_root_stands_before_or_after_the_command(
    name: str, command: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = ["--root", str(tmp_path)]
    said = []
    for words in ([*root, *command], [f"--root={tmp_path}", *command], [*command, *root]):
        assert MAINS[name](words) == 2
        said.append(capsys.readouterr().err)
    assert told.format(root=tmp_path) in said[0]
    assert len(set(said)) == 1
