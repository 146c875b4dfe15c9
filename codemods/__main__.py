"""``codemods COMMAND``: the static half's commands under one name."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from esper_harness.commands import leave
from esper_harness.options import ROOT_HELP, root_to_command

_COMMANDS = {
    "extract": ("codemods.extract", "Lift helpers to module level, or say why not."),
    "audit": ("codemods.audit.cli", "Report what helpers capture, what tests patch, and what can be lifted."),
    "hotpath": ("codemods.hotpath.cli", "Find what stalls the device in hot loops."),
    "review": ("codemods.review.cli", "Say what of a change is proven equal, and what is left to read."),
}


class Commands(click.Group):
    """A program of commands, each loaded when it is called.

    ``modules`` has the module of each, with its ``command`` and its ``main``, and one line about it.
    """

    def __init__(self, name: str, about: str, modules: Mapping[str, tuple[str, str]]) -> None:
        """Name the program."""
        option = click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
        settings: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
        super().__init__(name, help=about, context_settings=settings)
        option(self)
        self.params.append(click.Option(["--root"], metavar="DIR", expose_value=False, help=ROOT_HELP))
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command; what completes words in a shell asks for it."""
        if cmd_name not in self._modules:
            return None
        found: click.Command = importlib.import_module(self._modules[cmd_name][0]).command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name."""
        if args[0] not in self._modules and not ctx.resilient_parsing:
            close = difflib.get_close_matches(args[0], self._modules, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(self._modules)}"
            ctx.fail(f"unknown command {args[0]}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, loading none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self._modules.items()])

    def run(self, argv: Sequence[str] | None = None) -> int:
        """Run one command by its own ``main``; the exit status."""
        arguments = root_to_command(sys.argv[1:] if argv is None else argv, self._modules)
        if arguments and arguments[0] in self._modules:
            main: Callable[[Sequence[str]], int]
            main = importlib.import_module(self._modules[arguments[0]][0]).main
            return int(main(arguments[1:]))
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


program = Commands(
    "codemods",
    "Lift helpers, move code by plans, find what stalls the device.\n\n"
    "Exit status: 0 done or clean, 1 something was refused, found or would be changed, 2 unusable input.",
    _COMMANDS,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; the exit status."""
    return program.run(argv)


if __name__ == "__main__":
    leave(main())
