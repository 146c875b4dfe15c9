"""The rules for coding agents: written into a file that may be somebody's, naming commands that exist."""

import re
from pathlib import Path

import click
import pytest

from ci.__main__ import main as golden_gate
from ci.__main__ import program as gate_program
from ci.init.agents import section
from codemods.__main__ import program as codemods_program
from golden.cli import cli as golden_program

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "agents.md"


def agents(root: Path, *options: str) -> int:
    return golden_gate(["init", "--agents", "--root", str(root), *options])


def test_a_first_file_and_a_second_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert agents(tmp_path, "--dry-run") == 0
    assert not (tmp_path / "AGENTS.md").exists()
    assert agents(tmp_path) == 0
    assert (tmp_path / "AGENTS.md").read_text() == section([])
    assert agents(tmp_path) == 0
    assert capsys.readouterr().out.endswith("wrote AGENTS.md\nAGENTS.md has it already\n")
    assert [path.name for path in tmp_path.iterdir()] == ["AGENTS.md"]


def test_the_text_of_others_stays(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_text("# Ours\n")
    assert agents(tmp_path) == 0
    assert path.read_text() == "# Ours\n\n" + section([])
    path.write_text(path.read_text() + "\nMore of ours.\n")
    runs = tmp_path / "golden" / "runs"
    runs.mkdir(parents=True)
    (runs / "small.toml").write_text("")
    assert agents(tmp_path) == 0
    assert path.read_text() == "# Ours\n\n" + section(["small"]) + "\nMore of ours.\n"
    assert "`golden ab --base HEAD small`" in path.read_text()


def test_half_a_section_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_text("text\n<!-- golden-gate: end -->\n")
    assert agents(tmp_path) == 2
    assert "one of the two golden-gate marks" in capsys.readouterr().err
    assert path.read_text() == "text\n<!-- golden-gate: end -->\n"


@pytest.mark.parametrize("text", [section(["run"]), DOCUMENT.read_text(encoding="utf-8")])
def test_every_command_that_is_named_exists(text: str) -> None:
    programs: dict[str, click.Group] = {
        "codemods": codemods_program,
        "golden": golden_program,
        "golden-gate": gate_program,
    }
    named = re.findall(
        r"(?:`|^|\$ )((?:codemods|golden|golden-gate) [a-z][^`\n#]*)", text, flags=re.MULTILINE
    )
    assert len(named) > 4
    for line in named:
        name, command, *words = line.split()
        context = click.Context(programs[name])
        found = programs[name].get_command(context, command)
        assert found is not None, line
        known = {option for parameter in found.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, line
