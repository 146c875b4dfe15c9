"""``golden syncs``: a command on simulated devices, and what it shows of it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from golden.check.fixtures import write_whole
from golden.check.progress import progress
from golden.record.git import worktree
from golden.simulated.child import run
from golden.simulated.result import Result, compare, read_result
from golden.simulated.text import as_table, render, render_changes
from golden.trace.errors import ExitCode, NothingComparable, RunFailed, UnusableInput


@click.command("syncs", context_settings={"ignore_unknown_options": False})
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option("--base", metavar="REF", help="Compare with the same command in this git ref.")
@click.option(
    "--devices", type=click.IntRange(1, 64), default=1, help="How many GPUs there are; 1 by default."
)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write it as JSON, for other tools.",
)
def syncs_command(command: tuple[str, ...], base: str | None, devices: int, file: Path | None) -> int:
    """Run a CUDA program on a simulated GPU: where the host waits, races, peak memory, by line.

    No GPU is needed: values are computed on the CPU. `golden syncs -- python train.py` runs the program as it
    is. Exit status: 0; 1 with races, or with --base if syncs differ; 3 if the program failed.
    """
    root = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="golden-syncs-") as scratch:
        if base is None:
            found, status = _seen(command, root, Path(scratch) / "head", devices, quiet=False)
            click.echo("\n" + render(found))
            code = ExitCode.DIFFERENT if found.races else ExitCode.IDENTICAL
        else:
            with worktree(root, base) as tree:
                progress.say(f"{base}: running")
                before, failed = _seen(command, tree, Path(scratch) / "base", devices, quiet=True)
            if failed:
                raise RunFailed(f"{base}: the program ended with exit status {failed}")
            progress.say("working tree: running")
            found, status = _seen(command, root, Path(scratch) / "head", devices, quiet=True)
            both = compare(before, found)
            click.echo(render_changes(both, names=(base, "working tree")))
            code = ExitCode.DIFFERENT if both.differ else ExitCode.IDENTICAL
    if file is not None:
        write_whole(file, json.dumps(as_table(found), indent=1) + "\n")
    if status:
        raise RunFailed(
            f"the program ended with exit status {status}; the report is of what it did until then"
        )
    return code


def _seen(
    command: tuple[str, ...], root: Path, out: Path, devices: int, *, quiet: bool
) -> tuple[Result, int]:
    script = next((part for part in command[1:] if not part.startswith("-")), "")
    if command[0] in ("python", "python3") and script.endswith(".py") and not (root / script).is_file():
        raise UnusableInput(f"no script {script} in {root}")
    status = run(command, root=root, out=out, devices=devices, quiet=quiet)
    found = read_result(out)
    if found is None:
        if status:
            raise RunFailed(f"the program ended with exit status {status} and left no report")
        raise NothingComparable(
            "the program had no tensor on the device, so nothing was counted; help: if it chooses its device "
            "by an option, pass that as well, such as --device cuda"
        )
    return found, status
