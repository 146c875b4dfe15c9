"""Plan, then plant one mistake after the other until all are tried or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from golden.check.ab import Notify
from golden.power.candidates import Candidates, candidates, real
from golden.power.kept import Kept, state_of
from golden.power.mistakes import Mistake
from golden.power.reference import Reference, references
from golden.power.request import Wanted
from golden.power.result import Planted, Power, RunTold, told
from golden.power.trees import Trees
from golden.power.trial import plant
from golden.trace.errors import NothingComparable


class NothingChanged(NothingComparable):
    """A change has no statement in which a mistake can be planted, whether it runs or not."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done: the mistakes in order, how many make no other program, how long it should take."""

    wanted: Wanted
    references: Mapping[str, Reference]
    candidates: Candidates
    drawn: tuple[Mistake, ...]
    equivalent: int
    seconds: float
    state: str


def make_plan(wanted: Wanted, trees: Trees, *, out: Path, notify: Notify) -> Plan:
    """Run the unchanged program, and draw. Raises `GoldenError`."""
    asked = wanted.asked
    found = references(
        asked.runs,
        trees,
        wanted.files,
        out=out,
        data=asked.data,
        workers=wanted.workers,
        notify=notify,
        recorded=asked.recorded,
    )
    root = trees.all[0].root
    possible = candidates(root, wanted.files, found, wanted.touched)
    if not possible.found:
        if wanted.touched is not None and not possible.unreached:
            raise NothingChanged(f"nothing that changed since {asked.base} can hold a mistake")
        where = "changed lines of Python" if wanted.touched is not None else "lines"
        raise NothingComparable(
            f"no mistake can be planted in {where} that these runs execute "
            f"({possible.unreached} on lines that none executes)"
        )
    part, parts = asked.shard
    by_name = {each.run.name: each for each in found}
    drawn, equivalent, seconds = _draw(wanted, root, possible.found[part - 1 :: parts], by_name)
    told_of = [
        f"{r.run.name} {r.run.definition()} {sorted(r.trace.about.fingerprint.items())}" for r in found
    ]
    return Plan(wanted, by_name, possible, drawn, equivalent, seconds, state_of(root, trees.files, told_of))


def _draw(
    wanted: Wanted, root: Path, found: Sequence[Mistake], by_name: Mapping[str, Reference]
) -> tuple[tuple[Mistake, ...], int, float]:
    """As many real ones as there is time for, if each is noticed by the shortest of its runs."""
    drawn: list[Mistake] = []
    equivalent, seconds = 0, 0.0
    asked = wanted.asked
    limit = None if asked.minutes is None else asked.minutes * 60 * wanted.workers
    for mistake, another in real(root, found):
        if not another:
            equivalent += 1
            continue
        cost = min(by_name[name].seconds for name in mistake.runs)
        enough = asked.most is not None and len(drawn) >= asked.most
        if enough or (limit is not None and drawn and seconds + cost > limit):
            break
        drawn.append(mistake)
        seconds += cost
    return tuple(drawn), equivalent, seconds / wanted.workers


def carry_out(
    plan: Plan, trees: Trees, kept: Kept, *, out: Path, each: Callable[[int, Planted], None]
) -> Power:
    """Plant what is planned. ``each`` is told how many are done, and what came of one."""
    wanted, asked = plan.wanted, plan.wanted.asked
    deadline = None if asked.minutes is None else time.monotonic() + asked.minutes * 60

    def one(mistake: Mistake) -> Planted | None:
        if (before := kept.known(mistake)) is not None:
            return before
        if deadline is not None and time.monotonic() > deadline:
            return None
        runs = sorted((plan.references[name] for name in mistake.runs), key=lambda each: each.seconds)
        with trees.lent() as tree:
            answers = plant(mistake, runs, tree, out=out / "planted", data=asked.data)
        planted = told(mistake, answers)
        kept.keep(planted)
        return planted

    found: dict[str, Planted] = {}
    with ThreadPoolExecutor(max_workers=wanted.workers) as pool:
        going = [pool.submit(one, mistake) for mistake in plan.drawn]
        try:
            for future in as_completed(going):
                if (planted := future.result()) is not None:
                    found[planted.name] = planted
                    each(len(found), planted)
        finally:
            for future in going:
                future.cancel()
    reaches = {name: sum(name in m.runs for m in plan.candidates.found) for name in plan.references}
    return Power(
        state=plan.state,
        base=asked.base,
        possible=len(plan.candidates.found),
        unreached=plan.candidates.unreached,
        silent=dict(plan.candidates.lines),
        idle=plan.candidates.idle,
        equivalent=plan.equivalent,
        shard=asked.shard,
        planned=len(plan.drawn),
        runs=tuple(
            RunTold(name=name, seconds=round(each.seconds, 1), reaches=reaches[name])
            for name, each in plan.references.items()
        ),
        planted=tuple(found[m.name] for m in plan.drawn if m.name in found),
    )
