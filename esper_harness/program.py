"""A program of several commands: what `codemods`, `golden` and `golden-gate` have in common."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence

import click

from esper_harness.extras import missing_extra
from esper_harness.options import ROOT_HELP, root_to_command
from esper_harness.report.plain import hint


def add_version(command: click.Command) -> None:
    """Give a command the option --version; one option remembers the name of the program that it is of."""
    click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")(command)


class Commands(click.Group):
    """A program of commands, each loaded when it is called.

    ``places`` has of each where it is, and one line about it: ``module:name`` of a command, or a module with
    its ``command`` and a ``main`` that runs it. ``extra`` brings all that they need.
    """

    def __init__(
        self, name: str, about: str, places: Mapping[str, tuple[str, str]], extra: str | None = None
    ) -> None:
        """Name the program."""
        super().__init__(name, help=about, context_settings={"help_option_names": ["-h", "--help"]})
        self.params.append(click.Option(["--root"], metavar="DIR", expose_value=False, help=ROOT_HELP))
        add_version(self)
        self._places, self._extra = places, extra

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command; what completes words in a shell asks for it."""
        if cmd_name not in self._places:
            return None
        module, _, name = self._places[cmd_name][0].partition(":")
        found: click.Command = getattr(importlib.import_module(module), name or "command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name."""
        # Older versions of click suggest nothing.
        if args[0] not in self._places and not ctx.resilient_parsing:
            ctx.fail(f"unknown command {args[0]}{hint(args[0], list(self._places))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, loading none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self._places.items()])

    def run(self, argv: Sequence[str] | None = None) -> int:
        """Run one command; the exit status."""
        try:
            return self._run(argv)
        except ModuleNotFoundError as error:
            line = missing_extra(error, str(self.name), self._extra)
            if line is None:
                raise
            sys.stderr.write(f"{line}\n")
            return 2

    def _run(self, argv: Sequence[str] | None) -> int:
        arguments = root_to_command(sys.argv[1:] if argv is None else argv, self._places)
        place = self._places[arguments[0]][0] if arguments and arguments[0] in self._places else ":"
        if ":" not in place:
            return int(importlib.import_module(place).main(arguments[1:]))
        completing = f"_{self.name}_COMPLETE".replace("-", "_").upper() in os.environ
        if not arguments and not completing:
            click.echo(self.get_help(click.Context(self, info_name=self.name)), err=True)
            return 2
        try:
            status = self.main(args=arguments, prog_name=self.name, standalone_mode=False)
        except click.ClickException as error:
            click.echo(f"{self.name}: {error.format_message()}", err=True)
            return 2
        return int(status or 0)
