"""The static half on real programs: one table for each, compared with those that are committed.

    python benchmarks/real.py [--only NAME]... [--stage STAGE]... [--update | --approve REASON] [--code DIR]

Exit status: 0 no verdict is worse than the committed one, 1 some are, 2 the programs are not there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.real.compare import Difference

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, compare, write what is asked for."""
    from benchmarks.real import compare, corpus, measure, session, tables

    parser = argparse.ArgumentParser(
        description="Run the static half over real programs; compare the verdicts."
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="only this program; repeatable")
    parser.add_argument(
        "--stage", action="append", choices=measure.STAGES, help="only this stage; repeatable"
    )
    parser.add_argument("--no-packages", action="store_true", help="leave out the packages of the registry")
    parser.add_argument("--update", action="store_true", help="renew the pages, if no verdict is worse")
    parser.add_argument(
        "--approve", metavar="REASON", help="renew the pages although some are, for this reason"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at a time (default: 2)")
    parser.add_argument("--code", type=Path, metavar="DIR", help="another checkout, which is to be measured")
    options = parser.parse_args(argv)
    if options.code is not None:
        sys.path.insert(0, str(options.code.resolve()))
    try:
        programs = corpus.repositories() + ([] if options.no_packages else corpus.packages())
    except corpus.CorpusError as error:
        print(f"real: {error}", file=sys.stderr)
        return 2
    if unknown := set(options.only or ()) - {program.name for program in programs}:
        parser.error(
            f"no program {', '.join(sorted(unknown))}; there are {', '.join(p.name for p in programs)}"
        )
    chosen = [program for program in programs if not options.only or program.name in options.only]
    stages = options.stage or list(measure.STAGES)
    verdicts, done = session.measured(chosen, stages, options.jobs)
    worse = other = 0
    for name, lines in verdicts.items():
        was = tables.committed(name)
        kept = [line for line in was if measure.stage_of(line) and measure.stage_of(line) not in stages]
        found = compare.differences(set(was) - set(kept), lines)
        # A program that is new has nothing to be worse than.
        bad = [difference for difference in found if was and difference.step < 0]
        worse, other = worse + len(bad), other + len(found) - len(bad)
        _show(f"{name}: worse", bad)
        if was:
            _show(f"{name}: better, or another one", [each for each in found if each.step >= 0])
        if options.approve is not None or (options.update and not bad):
            reasons = [f"- {len(bad)} verdicts that were better: {options.approve}"] if bad else []
            tables.write(name, sorted([*kept, *lines]), [*tables.approved_on(name), *reasons])
    if (options.update or options.approve) and not (options.only or options.stage or options.no_packages):
        tables.FOLDER.joinpath("cost.md").write_text(session.costs(done), encoding="utf-8")
    counts = f"{len(verdicts)} programs, {sum(map(len, verdicts.values()))} verdicts"
    seconds = sum(each.seconds for each in done)
    print(f"real: {counts}, {seconds:.0f} s of CPU; {worse} worse, {other} others differ")
    if worse and options.approve is None:
        print('real: help: mend it, or approve it with --approve "REASON"', file=sys.stderr)
        return 1
    if other and not (options.update or options.approve):
        print("real: help: renew the pages with --update")
    return 0


def _show(title: str, found: Sequence[Difference]) -> None:
    """Print differences as a diff."""
    if found:
        print(f"{title} ({len(found)})", *(line for each in found for line in each.lines), sep="\n  ")


if __name__ == "__main__":
    # Beside this file lie benchmarks that have the tools' names.
    sys.path[0] = str(ROOT)
    sys.exit(main())
