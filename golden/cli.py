"""The command line's outside: what needs torch is only loaded by the command that is run."""

from __future__ import annotations

from collections.abc import Sequence

import click

from esper_harness.program import Commands, add_version
from esper_harness.report.plain import visible
from golden.trace.errors import ExitCode, GoldenError

_LONGEST = 4000
# Where each is, and what it does.
_COMMANDS = {
    "list": ("golden.commands:list_command", "The runs of this repository, and what each costs."),
    "init": ("golden.commands:init_command", "Keep a command as a run file."),
    "doctor": (
        "golden.commands:doctor_command",
        "Run it twice: is it deterministic at all, and if not, what differs first?",
    ),
    "record": ("golden.commands:record_command", "Run and keep the trace, or renew the golden."),
    "verify": ("golden.suites:verify_command", "Compare runs, all by default, with their goldens."),
    "ab": ("golden.suites:ab_command", "Compare two versions on this machine, now."),
    "diff": ("golden.commands:diff_command", "Compare two traces, or two folders of traces by run."),
    "syncs": (
        "golden.syncs:syncs_command",
        "Run a CUDA program on a simulated GPU: where the host waits, races, peak memory, by line.",
    ),
    "mutate": (
        "golden.mutate.command:mutate_command",
        "Make small mistakes in lines that golden runs execute, and count those that the runs kill.",
    ),
    "report": (
        "golden.report.command:report_command",
        "Write up how two traces compare, or what shards of a suite came to.",
    ),
}


class _Golden(Commands):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is not None and not any(option.name == "version" for option in found.params):
            add_version(found)
        return found

    def invoke(self, ctx: click.Context) -> int:
        from golden.check.progress import progress
        from golden.check.signals import Ended, ending_programs

        try:
            with ending_programs(), progress.shown(quiet=ctx.params.get("quiet", False)):
                return int(super().invoke(ctx) or 0)
        except Ended as error:
            click.echo(f"golden: ended by {error}; its programs too", err=True)
            return error.code


program = _Golden(
    "golden",
    "Record seeded training runs, compare them bit for bit, name the first divergence.\n\n"
    "Exit status: 0 identical, 1 different, 2 unusable input, 3 a run crashed or timed out, "
    "4 nothing comparable.",
    _COMMANDS,
)
_QUIET = "Print verdicts and errors only, no progress."
program.params.insert(0, click.Option(["-q", "--quiet"], is_flag=True, help=_QUIET))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status says what came of it."""
    try:
        return program.run(argv)
    except GoldenError as error:
        click.echo(f"golden: {visible(str(error), _LONGEST)}", err=True)
        return int(error.code)
    except OSError as error:
        # One that names no file is of something that is open already: of standard output, as a rule.
        if error.filename is not None:
            raise
        click.echo(f"golden: output can't be written: {error.strerror}", err=True)
        return int(ExitCode.UNUSABLE)
    except click.Abort:
        click.echo("golden: interrupted", err=True)
        return 130
