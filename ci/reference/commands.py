"""The page of commands and their options."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ci.__main__ import program as gate
from codemods.__main__ import program as codemods
from golden.cli import program as golden

PROGRAMS: tuple[tuple[str, click.Group], ...] = (
    ("golden", golden),
    ("codemods", codemods),
    ("golden-gate", gate),
)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every program and its commands, with their full names."""
    for name, group in PROGRAMS:
        yield name, group
        context = click.Context(group, info_name=name)
        for child in group.list_commands(context):
            command = group.get_command(context, child)
            assert command is not None
            yield f"{name} {child}", command


def described(name: str, command: click.Command) -> str:
    """A command as Markdown: what it does, how it is called, its options."""
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    about = " ".join((command.help or "").split("\n\n")[0].split())
    rows = [row for option in command.params if (row := _row(option, context))]
    table = "| option | meaning |\n|---|---|\n" + "".join(rows) if rows else ""
    return f"## `{name}`\n\n{about}\n\n```\n{usage}\n```\n\n{table}"


def _row(option: click.Parameter, context: click.Context) -> str:
    record = option.get_help_record(context)
    if not isinstance(option, click.Option) or record is None or option.name in ("help", "version"):
        return ""
    spelling, meaning = (" ".join(text.split()).replace("|", "\\|") for text in record)
    return f"| `{spelling}` | {meaning} |\n"
