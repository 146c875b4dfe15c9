"""Plans and results in words."""

from __future__ import annotations

from collections.abc import Iterator

from golden.power.plan import Plan
from golden.power.result import Planted, Power, interval

_MOST, _FEW = 60, 4
_LONGEST = 100


def plan_lines(plan: Plan) -> list[str]:
    """What is going to be done."""
    found, drawn = plan.candidates, plan.drawn
    files = len({mistake.path for mistake in found.found})
    how = "all" if len(drawn) + plan.equivalent == len(found.found) else f"{len(drawn)}, drawn by chance,"
    lines = [
        f"plan: {len(found.found):,} mutants in {_files(files)}, on lines that "
        f"{_runs(plan)} execute{'s' if len(plan.references) == 1 else ''}",
        f"  {how} are tried: about {len(drawn)} runs, "
        f"{_minutes(plan.seconds)} with {plan.workers} at a time, more where several runs reach it",
    ]
    if plan.equivalent:
        lines.append(
            f"  {plan.equivalent} equivalent mutants (the same program, or one made twice) are left out"
        )
    if found.unreached:
        lines.append(f"  {found.unreached:,} more are on lines that no run executes: nothing would kill them")
    if found.idle:
        lines.append(f"  {_files(len(found.idle))} of which no line runs: {_names(found.idle)}")
    return lines


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def _names(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - _FEW} more" if len(paths) > _FEW else ""
    return f"{', '.join(paths[:_FEW])}{more}"


def _runs(plan: Plan) -> str:
    count = len(plan.references)
    return next(iter(plan.references)) if count == 1 else f"{count} runs"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} s"


def planted_line(number: int, planned: int, planted: Planted) -> str:
    """How one came out, for the one who waits."""
    last = planted.answers[-1]
    how = last.how if not planted.noticed else f"killed by {last.run}"
    return f"[{number}/{planned}] {how}: {place(planted)} {planted.mistake.operator}"


def place(planted: Planted) -> str:
    """Where it was planted."""
    return f"{planted.mistake.path}:{planted.mistake.line}"


def headline(power: Power) -> str:
    """The answer in one line."""
    judged, noticed = len(power.judged), power.noticed
    if not judged:
        return "mutation score: no mutant was judged"
    crashed = sum(planted.answers[-1].how == "crashed" for planted in power.judged)
    how = f", {crashed} of them by a crash" if crashed else ""
    found = f"mutation score: {100 * noticed / judged:.0f} % ({noticed} of {judged} mutants killed{how})"
    if not power.everything:
        low, high = interval(noticed, judged)
        found += (
            f"; of all {power.possible:,} mutants between {100 * low:.0f} and {100 * high:.0f} % "
            "(95 % confidence)"
        )
    return found


def result_lines(power: Power) -> Iterator[str]:
    """The answer, by run and by kind, then what was not noticed."""
    yield headline(power)
    if len(power.planted) < power.planned:
        yield f"  time was up after {len(power.planted)} of {power.planned}"
    for run in power.runs:
        said = power.told_by(run.name)
        yield (
            f"  {run.name}: killed {said.noticed} of {said.asked} that it ran"
            f"{f' ({said.how})' if said.how else ''}; "
            f"it executes the lines of {run.reaches:,} of {power.possible:,}"
        )
    if power.unreached:
        yield f"  on lines that no run executes: {power.unreached:,} more"
    if power.idle:
        yield f"  {_files(len(power.idle))} of which no line runs: {_names(power.idle)}"
    missed = power.missed
    if missed:
        yield "survived:"
    for planted in missed[:_MOST]:
        made = planted.mistake
        where = f" in {made.scope}" if made.scope else ""
        yield f"  {place(planted)}{where}: {made.operator}; {', '.join(made.runs)} ran it"
        yield f"    - {_short(made.before)}"
        yield f"    + {_short(made.after)}"
    if len(missed) > _MOST:
        yield f"  {len(missed) - _MOST} more"
    for planted in power.planted:
        if not planted.judged:
            yield f"not tried: {place(planted)}: {planted.answers[-1].what}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
