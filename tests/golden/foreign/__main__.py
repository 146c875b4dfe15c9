"""`python -m tests.golden.foreign`: try every planted mistake, and write benchmarks/foreign.md's table.

With GOLDEN_AA_RUNS=N every unchanged program is also run N times against itself.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from golden.compare import Identical
from tests.golden.foreign.trial import PROGRAMS, Laboratory, Trial, load_corpus, repeats

PAGE = Path(__file__).resolve().parents[3] / "benchmarks" / "foreign.md"
BEGIN, END = "<!-- foreign: begin -->", "<!-- foreign: end -->"
_LONGEST = 110


@click.command()
@click.option("-n", "workers", type=click.IntRange(min=1), default=1, help="How many programs run at a time.")
@click.option(
    "--only", metavar="TEXT", help="Only mistakes whose changed line has this text; writes nothing."
)
def command(workers: int, only: str | None) -> None:
    """Exit status 0 if every mistake is caught and placed, equivalents are identical, and A/A runs repeat."""
    corpus = [m for m in load_corpus() if only is None or only in m.before + m.after]
    with tempfile.TemporaryDirectory(prefix="golden-foreign-") as scratch:
        laboratory = Laboratory(Path(scratch))
        for program in PROGRAMS:
            laboratory.reference(program)
        with ThreadPoolExecutor(max_workers=workers) as pool:
            trials = []
            for trial in pool.map(laboratory.try_out, corpus):
                trials.append(trial)
                click.echo(row(trial))
            programs = [program for program in PROGRAMS for _ in range(repeats() if only is None else 0)]
            verdicts = list(pool.map(laboratory.again, programs))
    alarms = [p for p, found in zip(programs, verdicts, strict=True) if not isinstance(found, Identical)]
    odd = [trial for trial in trials if not trial.expected]
    for trial in odd:
        click.echo(f"not as the corpus says: {trial.mistake}\n  " + "\n  ".join(trial.lines[:12]))
    click.echo(
        f"{len(trials)} mistakes, {len(odd)} not as the corpus says; {len(programs)} A/A, {alarms} differ"
    )
    if only is None:
        text = PAGE.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        table = "\n".join(page(trials, len(programs), len(alarms)))
        PAGE.write_text(f"{head}{BEGIN}\n\n{table}\n\n{END}{tail}", encoding="utf-8")
    sys.exit(1 if odd or alarms else 0)


def page(trials: list[Trial], runs: int, alarms: int) -> list[str]:
    """The lines of the table and of what it adds up to."""
    real = [trial for trial in trials if not trial.mistake.identical]
    kinds = Counter(trial.mistake.of for trial in real)
    caught = Counter(trial.mistake.of for trial in real if trial.caught)
    parts = ", ".join(f"{caught[kind]} of {kinds[kind]} in {kind}" for kind in kinds)
    equivalent = [trial for trial in trials if trial.mistake.identical]
    return [
        f"**{len(real)} mistakes: {sum(caught.values())} caught ({parts}), "
        f"{sum(bool(trial.placed) for trial in real)} placed at their line or field; "
        f"{sum(not trial.caught for trial in equivalent)} of {len(equivalent)} equivalent changes identical. "
        f"{runs} A/A runs, {alarms} differ.**",
        "",
        "| program | in | the line becomes | verdict |",
        "|---|---|---|---|",
        *map(row, trials),
    ]


def row(trial: Trial) -> str:
    """One trial as a row of the table."""
    mistake = trial.mistake
    changed = " ".join(mistake.after.split())
    said = f"identical: {mistake.identical}" if not trial.caught else trial.placed or trial.lines[0]
    said = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"
    cells = (mistake.program, mistake.of, f"`{changed}`", said)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    command()
