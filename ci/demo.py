"""The demonstration: split the monolith by a plan, prove that no bit changed, plant a bug, see it found."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from codemods.plans import PlanError, RequestError, TargetError, WriteError, derive_tree, load_plan
from codemods.program import SourceError
from golden.compare import Comparison, Different, Identical, compare
from golden.record import find_run, record_run
from golden.report import render
from golden.trace.errors import GoldenError
from golden.trace.trace import Trace

PLAN = Path("codemods/plans/02_modular_split.toml")
RUN = "ppo_small"
_NEEDED = ("src", "golden", "codemods", "esper_harness", "tests", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Swap:
    """Two pieces of a file that change places; whole lines, with their indentation."""

    title: str
    file: str
    first: str
    between: str
    second: str


SEED_GRADIENTS = Swap(
    title="the seeds' gradients are cleared after the backward pass, not before it",
    file="src/esper/simic/training/batch_ops.py",
    first="""\
        for optimizer in env_state.seed_optimizers.values():
            optimizer.zero_grad(set_to_none=True)
""",
    between="""\
        with torch_amp.autocast(
            env_state.device.type,
            dtype=setup.placement.amp_dtype,
            enabled=setup.placement.amp_dtype is not None,
        ):
            logits = env_state.model(inputs)
        loss = mean_loss(logits, targets)
""",
    second="""\
        backward(loss, optimizers, env_state.scaler)
""",
)


class NotPlanted(Exception):
    """The lines are not in the file, or not once."""


def plant(tree: Path, swap: Swap) -> None:
    """Make the change in a tree. Raises `NotPlanted`."""
    path = tree / swap.file
    text = path.read_text(encoding="utf-8")
    before = swap.first + swap.between + swap.second
    if text.count(before) != 1:
        raise NotPlanted(f"{swap.file}: the lines to swap occur {text.count(before)} times, not once")
    path.write_text(text.replace(before, swap.between + swap.second + swap.first), encoding="utf-8")


class DemoError(Exception):
    """The demonstration can't go on; the message is one line."""


@dataclass(frozen=True, slots=True)
class Lifted:
    """What became of one helper, and the file that it went to."""

    name: str
    captures: int
    target: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both verdicts, and what was done to get them."""

    lifted: tuple[Lifted, ...]
    monolith_lines: int
    sizes: tuple[tuple[str, int], ...]
    extracted: Comparison
    swapped: Comparison
    seconds: float

    @property
    def proven(self) -> bool:
        """Whether the extraction changed nothing and the planted bug was found."""
        return isinstance(self.extracted, Identical) and isinstance(self.swapped, Different)


def run_demo(repository: Path, scratch: Path, *, data: Path | None, notify: Callable[[str], None]) -> Outcome:
    """Run all of it in the folder ``scratch``; nothing of ``repository`` is changed.

    ``notify`` is told of each step as it begins, and once at the end.

    Raises `DemoError`, `NotPlanted`, `GoldenError`.
    """
    begun = time.monotonic()
    notify(f"extract by {PLAN.name}")
    tree = scratch / "tree"
    lifted, before, sizes = _extract(repository, tree)
    run = find_run(RUN, tree)

    def record(what: str, base: bool) -> Trace:
        notify(f"run {what}")
        chosen = run.variant("base") if base else run
        out = scratch / what.replace(" ", "-")
        return record_run(chosen, root=tree, out=out, data=data, label=what)

    monolith = record("the monolith", True)
    extracted = record("the extracted trainer", False)
    notify("swap two statements")
    plant(tree, SEED_GRADIENTS)
    swapped = record("the trainer with the swap", False)
    notify("compare")
    verdicts = compare(monolith, extracted), compare(monolith, swapped)
    notify("done")
    return Outcome(lifted, before, sizes, *verdicts, time.monotonic() - begun)


def _extract(repository: Path, tree: Path) -> tuple[tuple[Lifted, ...], int, tuple[tuple[str, int], ...]]:
    """Apply the plan in a copy: what was lifted, the monolith's lines, and those of each file made of it."""
    for name in _NEEDED:
        if not (repository / name).exists():
            raise DemoError(f"{repository / name} is missing; run the demo from a complete clone")
    try:
        plan, _ = load_plan(repository / PLAN, PLAN.name)
        report = derive_tree(repository / PLAN, repository, tree)
    except (PlanError, RequestError, SourceError, TargetError, WriteError) as error:
        raise DemoError(str(error)) from None
    if report.refused:
        first = report.refused[0]
        reason = first.refusal.reason if first.refusal else ""
        raise DemoError(f"{first.name} is refused: {reason}")
    lifted = tuple(
        Lifted(helper.name, len(helper.captures), helper.target or "")
        for helper in report.helpers
        if helper.status == "lifted" and not (plan.loop and helper.name == plan.loop.class_)
    )
    sizes = tuple((change.shown, change.after.count(b"\n")) for change in report.files)
    return lifted, (tree / plan.source).read_bytes().count(b"\n"), sizes


def show(outcome: Outcome, swap: Swap, console: Console) -> None:
    """Print what was lifted, both verdicts and a table that sums up."""
    console.print()
    _verdict(console, "after the extraction", outcome.extracted, "the extracted trainer")
    _verdict(console, f"after the swap ({swap.title})", outcome.swapped, "the trainer with the swap")
    table = Table(title=f"{len(outcome.lifted)} helpers lifted", title_justify="left", box=None)
    table.add_column("helper")
    table.add_column("captures", justify="right")
    table.add_column("now in")
    for helper in outcome.lifted:
        table.add_row(helper.name, str(helper.captures), Path(helper.target).name)
    console.print(table)
    sizes = ", ".join(f"{Path(name).name} {lines:,}" for name, lines in outcome.sizes)
    console.print(f"\nlines: {outcome.monolith_lines:,} in one file before; after: {sizes}", soft_wrap=True)
    console.print(f"{outcome.seconds:.0f} s", style="dim")


def _verdict(console: Console, title: str, comparison: Comparison, right: str) -> None:
    console.print(title, style="bold", markup=False, soft_wrap=True)
    text = render(comparison, left="the monolith", right=right)
    first, *rest = text.splitlines()
    style = {Identical: "bold green", Different: "bold red"}.get(type(comparison), "bold yellow")
    console.print(f"  {first}", style=style, highlight=False, markup=False)
    for line in rest:
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
    console.print()


def _tell(step: str) -> None:
    click.echo(f"demo: {step}", err=True)


@contextlib.contextmanager
def _scratch(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="demo-") as folder:
            yield Path(folder)
        return
    try:
        keep.mkdir(parents=True)
    except FileExistsError:
        raise DemoError(f"{keep} exists already; name another folder or remove it") from None
    except OSError as error:
        raise DemoError(f"can't write to {keep}: {error.strerror}") from None
    yield keep


@click.command()
@click.option(
    "--data", type=click.Path(path_type=Path), help="A folder with CIFAR-10; without it, synthetic images."
)
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the tree and the traces in this folder.")
def command(data: Path | None, keep: Path | None) -> int:
    """Split the monolithic trainer by a plan, prove that nothing changed, plant a bug and find it.

    Exit status: 0 both verdicts are as they should be, 1 one is not, 2 unusable input, 3 a run crashed.
    """
    console = Console(highlight=False)
    repository = Path(__file__).resolve().parents[1]
    with _scratch(keep) as scratch:
        outcome = run_demo(repository, scratch, data=data, notify=_tell)
        show(outcome, SEED_GRADIENTS, console)
    return 0 if outcome.proven else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; errors become one line and an exit status."""
    try:
        return int(command.main(args=argv, prog_name="demo", standalone_mode=False) or 0)
    except click.ClickException as error:
        click.echo(f"demo: {error.format_message()}", err=True)
        return 2
    except (DemoError, NotPlanted) as error:
        click.echo(f"demo: {error}", err=True)
        return 2
    except GoldenError as error:
        click.echo(f"demo: {error}", err=True)
        return int(error.code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("demo: interrupted", err=True)
        return 130


if __name__ == "__main__":
    sys.exit(main())
