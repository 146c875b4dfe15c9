"""Plans and mutation scores in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from esper_harness.report.plain import many
from golden.mutate.plan import Plan
from golden.mutate.result import Outcome, Score

_MOST = 60
_LONGEST = 100


def plan_lines(plan: Plan, workers: int) -> Iterator[str]:
    """Say what is going to be done."""
    names = list(plan.originals)
    runs = f"{names[0]} executes" if len(names) == 1 else f"{len(names)} runs execute"
    files = many(len({mutant.path for mutant in plan.possible}), "file")
    yield f"plan: {len(plan.possible):,} mutants in {files}, on lines that {runs}"
    how = "all" if len(plan.drawn) == len(plan.possible) else f"{len(plan.drawn)}, drawn by chance,"
    yield f"  {how} are tried, {workers} at a time, while there is time"
    if plan.unreached:
        yield f"  {plan.unreached:,} more are on lines that no run executes: nothing would kill them"


def outcome_line(number: int, planned: int, outcome: Outcome) -> str:
    """Say what came of one mutant, for the one who waits."""
    last = outcome.answers[-1]
    how = last.how if not outcome.killed else f"killed by {last.run}"
    return f"[{number}/{planned}] {how}: {outcome.place} {outcome.mutant.operator}"


def headline(score: Score) -> str:
    """Say the mutation score in one line."""
    judged, killed = len(score.judged), score.killed
    if not judged:
        return "mutation score: no mutant was judged"
    crashed = sum(outcome.answers[-1].how == "crashed" for outcome in score.judged)
    how = f", {crashed} of them by a crash" if crashed else ""
    return f"mutation score: {100 * killed / judged:.0f} % ({killed} of {judged} mutants killed{how})"


def result_lines(score: Score) -> Iterator[str]:
    """Say the score, then what each run killed, then what survived."""
    yield headline(score)
    plan = score.plan
    if len(score.outcomes) < len(plan.drawn):
        yield f"  time was up after {len(score.outcomes)} of {len(plan.drawn)}"
    for run in plan.originals:
        asked = [each for outcome in score.judged for each in outcome.answers if each.run == run]
        ways = Counter(each.how for each in asked if each.killed)
        how = ", ".join(f"{count} {name}" for name, count in sorted(ways.items()))
        yield f"  {run}: killed {ways.total()} of {len(asked)} that it ran{f' ({how})' if how else ''}"
    if score.equivalent:
        yield f"  {score.equivalent} equivalent mutants (the same program) are left out"
    if plan.unreached:
        yield f"  on lines that no run executes: {plan.unreached:,} more"
    survivors = score.survivors
    if survivors:
        yield "survived:"
    for outcome in survivors[:_MOST]:
        mutant = outcome.mutant
        where = f" in {mutant.scope}" if mutant.scope else ""
        yield f"  {outcome.place}{where}: {mutant.operator}; {', '.join(mutant.runs)} ran it"
        yield f"    - {_short(mutant.before)}"
        yield f"    + {_short(mutant.after)}"
    if len(survivors) > _MOST:
        yield f"  {len(survivors) - _MOST} more"
    for outcome in score.outcomes:
        if not outcome.judged:
            yield f"not tried: {outcome.place}: {outcome.answers[-1].what}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
