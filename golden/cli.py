"""The command line's outside: what needs torch is only loaded by the command that is run."""

from __future__ import annotations

import importlib
import os
import sys

import click

from esper_harness.options import ROOT_HELP, root_to_command, told
from golden.trace.errors import ExitCode, GoldenError

_LONGEST = 4000
_version = click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
# Where each is, and what it does.
_COMMANDS = {
    "list": ("commands:list_command", "The runs of this repository, and what each costs."),
    "init": ("commands:init_command", "Keep a command as a run file."),
    "doctor": (
        "commands:doctor_command",
        "Run it twice: is it deterministic at all, and if not, what differs first?",
    ),
    "record": ("commands:record_command", "Run and keep the trace, or renew the golden."),
    "verify": ("suites:verify_command", "Compare runs, all by default, with their goldens."),
    "ab": ("suites:ab_command", "Compare two versions on this machine, now."),
    "diff": ("commands:diff_command", "Compare two traces, or two folders of traces by run."),
    "syncs": (
        "syncs:syncs_command",
        "Run a CUDA program on a simulated GPU: where the host waits, races, peak memory, by line.",
    ),
    "mutate": (
        "mutate.command:mutate_command",
        "Make small mistakes in lines that golden runs execute, and count those that the runs kill.",
    ),
    "report": (
        "report.command:report_command",
        "Write up how two traces compare, or what shards of a suite came to.",
    ),
}


def _loaded(name: str) -> click.Command:
    module, _, function = _COMMANDS[name][0].partition(":")
    found: click.Command = getattr(importlib.import_module(f"golden.{module}"), function)
    return found


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found = _loaded(cmd_name)
        if not any(option.name == "version" for option in found.params):
            _version(found)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # Older versions of click suggest nothing.
        if args[0] not in _COMMANDS and not ctx.resilient_parsing:
            from golden.trace.unknown_keys import hint

            ctx.fail(f"unknown command {args[0]}{hint(args[0], list(_COMMANDS))}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        from golden.check.progress import progress
        from golden.check.signals import Ended, ending_programs

        try:
            with ending_programs(), progress.shown(quiet=ctx.params.get("quiet", False)):
                return int(super().invoke(ctx) or 0)
        except Ended as error:
            click.echo(f"golden: ended by {error}; its programs too", err=True)
            return error.code


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-q", "--quiet", is_flag=True, help="Print verdicts and errors only, no progress.")
@click.option("--root", metavar="DIR", expose_value=False, help=ROOT_HELP)
@_version
def cli(quiet: bool) -> None:
    """Record seeded training runs, compare them bit for bit, name the first divergence.

    Exit status: 0 identical, 1 different, 2 unusable input, 3 a run crashed or timed out,
    4 nothing comparable.
    """


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit status says what came of it."""
    arguments = root_to_command(sys.argv[1:] if argv is None else argv, _COMMANDS)
    if not arguments and "_GOLDEN_COMPLETE" not in os.environ:
        click.echo(cli.get_help(click.Context(cli, info_name="golden")), err=True)
        return ExitCode.UNUSABLE
    try:
        status = cli.main(args=arguments, prog_name="golden", standalone_mode=False)
    except GoldenError as error:
        from esper_harness.report.plain import visible

        click.echo(f"golden: {visible(str(error), _LONGEST)}", err=True)
        return int(error.code)
    except click.ClickException as error:
        click.echo(f"golden: {told(error)}", err=True)
        return ExitCode.UNUSABLE
    except click.Abort:
        click.echo("golden: interrupted", err=True)
        return 130
    return int(status or 0)
