"""`python -m tests.golden.mutations`: try all planted changes, write benchmarks/mutations.md."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from golden.mutate.copies import snapshot
from tests.golden.mutations.corpus import REPOSITORY, CorpusError, Mutation, load_corpus
from tests.golden.mutations.table import line, render, unexpected
from tests.golden.mutations.trial import Laboratory, Trial

PAGE = REPOSITORY / "benchmarks" / "mutations.md"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="NAME", help="Try this change only; may be repeated.")
@click.option("-n", "workers", type=click.IntRange(min=1), default=1, help="How many to try at a time.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "build" / "mutations",
    help="Where results are kept, so that an interrupted table goes on.",
)
@click.option("--kept", is_flag=True, help="Try nothing: the table of the results that are kept.")
def command(only: tuple[str, ...], workers: int, keep: Path, kept: bool) -> None:
    """Plant each change of the corpus in a copy of the trainer and run it through the golden runs.

    Exit status: 0 if each is caught, and located where the corpus says, or known to be out of reach; else 1.
    """
    corpus = load_corpus()
    names = {mutation.name for mutation in corpus}
    for name in only:
        if name not in names:
            raise click.BadParameter(f"no planted change is called {name}", param_hint="--only")
    chosen = [mutation for mutation in corpus if not only or mutation.name in only]
    with snapshot(REPOSITORY) as tree:
        laboratory = Laboratory(keep, tree)
        untried = 0
        if kept:
            known = [mutation for mutation in chosen if laboratory.known(mutation)]
            untried, chosen = len(chosen) - len(known), known

        def one(mutation: Mutation) -> Trial:
            trial = laboratory.known(mutation) or laboratory.try_out(mutation)
            click.echo(line(mutation, trial))
            return trial

        # Those that no run reaches go through all of them: last, so that the others are known early.
        order = sorted(chosen, key=lambda mutation: mutation.missed is not None)
        with ThreadPoolExecutor(max_workers=workers) as pool:
            trials = {trial.name: trial for trial in pool.map(one, order)}
    pairs = [(mutation, trials[mutation.name]) for mutation in chosen]
    if not only:
        PAGE.write_text(render(pairs, untried), encoding="utf-8")
        click.echo(f"-> {PAGE.relative_to(REPOSITORY)}")
    odd = [mutation.name for mutation, trial in pairs if unexpected(mutation, trial)]
    click.echo(
        f"{len(pairs)} changes, {len(odd)} not as the corpus says{': ' if odd else ''}{', '.join(odd)}"
    )
    sys.exit(1 if odd else 0)


if __name__ == "__main__":
    try:
        command()
    except CorpusError as error:
        sys.exit(f"mutations: {error}")
