"""The commands that the page for coding agents names exist, with their options."""

import re
from pathlib import Path

import click

from ci.__main__ import program as gate_program
from codemods.__main__ import program as codemods_program
from golden.cli import cli as golden_program

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
PROGRAMS: dict[str, click.Group] = {
    "codemods": codemods_program,
    "golden": golden_program,
    "golden-gate": gate_program,
}


def test_every_command_that_is_named_exists() -> None:
    named = re.findall(
        r"(?:`|^|\$ )((?:codemods|golden|golden-gate) [a-z][^`\n#]*)", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert len(named) > 4
    for line in named:
        name, command, *words = line.split()
        found = PROGRAMS[name].get_command(click.Context(PROGRAMS[name]), command)
        assert found is not None, line
        known = {option for parameter in found.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, line
