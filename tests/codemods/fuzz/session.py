"""A run of many seeds within a time: what came out, and the failures as cases ready for the hazard corpus."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.codemods.fuzz.check import Broken, Different, Same, Tool, Unusable, Verdict, check, reduce
from tests.codemods.fuzz.dress import WARDROBE, Dress
from tests.codemods.fuzz.flows import from_seed as flow_program
from tests.codemods.fuzz.modes import MODES, Asked, Mode
from tests.codemods.fuzz.programs import from_seed as any_program

# A command keeps the collector off and leaves its cycles among the oldest objects, as its process ends soon.
_COLLECT_EVERY = 200


def program_of(seed: int) -> str:
    """Return the program of a seed: one in three is mostly control flow, and of those for loops two."""
    flow = seed % 3 == 2 or (seed % 3 == 1 and mode_of(seed) == "loop")
    return flow_program(seed) if flow else any_program(seed)


def mode_of(seed: int) -> Mode:
    """Return what the tool is asked for with a seed's program."""
    return MODES[seed % len(MODES)]


@dataclass(frozen=True, slots=True)
class Failure:
    """A program that the tool got wrong, as small as it could be made."""

    seed: int
    mode: Mode
    asked: Asked
    program: str
    what: str

    def as_case(self) -> str:
        """Return the failure as text to be added to the corpus."""
        arguments = " ".join(self.asked.arguments)
        fence = "```"
        plan = f"{fence}toml orig plan.toml\n{self.asked.plan}{fence}\n\n" if self.asked.plan else ""
        title = f"## F{self.seed}: {self.mode}: {self.what.splitlines()[-1]}"
        return (
            f"{title}\n\n- expect: * either\n- extract: {arguments}\n\n"
            f"{fence}python orig program.py\n{self.program}{fence}\n\n"
            f"{plan}{fence}python orig main.py\nimport program\n{fence}\n"
        )


@dataclass(slots=True)
class Tally:
    """Totals of a session; `statuses` counts helpers, `codes` refusals."""

    programs: int = 0
    unusable: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    modes: dict[Mode, Counter[str]] = field(default_factory=lambda: {mode: Counter() for mode in MODES})

    def __str__(self) -> str:
        helpers = max(1, self.statuses["lifted"] + self.statuses["refused"])
        lines = [
            f"{self.programs} programs ({self.unusable.total()} unusable), {helpers} helpers,"
            f" {100 * self.statuses['lifted'] / helpers:.0f} % lifted"
        ]
        for mode, statuses in self.modes.items():
            lifted, refused = statuses["lifted"], statuses["refused"]
            lines.append(f"  {mode}: {statuses['programs']} programs, {lifted} lifted, {refused} refused")
        counts = [*self.codes.most_common(), *self.unusable.most_common(5)]
        return "\n".join(lines + [f"  {count:7} {what}" for what, count in counts])


def session(tool: Tool, first_seed: int, seconds: float, tally: Tally) -> Iterator[Failure]:
    """Check one seed after the other until the time is over; yield each failure when it has been reduced."""
    end = time.monotonic() + seconds
    seed, crashes = first_seed, set[str]()
    while time.monotonic() < end:
        mode = mode_of(seed)
        program = program_of(seed)
        dress = WARDROBE[seed % len(WARDROBE)]
        verdict = check(program, tool, mode, dress)
        tally.programs += 1
        match verdict:
            case Unusable(why):
                tally.unusable[why] += 1
            case Same(lifted):
                statuses = Counter(status for _, status, _ in lifted.helpers)
                tally.statuses.update(statuses)
                if lifted.asked is not None:
                    tally.modes[mode].update({"programs": 1, **statuses})
                tally.codes.update(code for _, status, code in lifted.helpers if status == "refused")
            case Broken(what) if what.splitlines()[-1] in crashes:
                tally.unusable["crashes like one before"] += 1
            case Different(what) | Broken(what):
                crashes.add(what.splitlines()[-1])
                small = reduce(program, lambda text: alike(check(text, tool, mode, dress), verdict))
                asked = _asked(small, tool, mode, dress)
                yield Failure(seed, mode, asked, small, what)
        seed += 1
        if tally.programs % _COLLECT_EVERY == 0:
            gc.collect()


def _asked(text: str, tool: Tool, mode: Mode, dress: Dress) -> Asked:
    """Return what the tool is asked for a program that it gets wrong."""
    verdict = check(text, tool, mode, dress)
    asked = verdict.lifted.asked if isinstance(verdict, Different) else None
    return asked or Asked((f"({mode})",))


def alike(one: Verdict, other: Verdict) -> bool:
    """Tell whether two failures are of one kind."""
    match one, other:
        case Different(first), Different(second):
            return first.split()[:3:2] == second.split()[:3:2]
        case Broken(first), Broken(second):
            return first.splitlines()[-1].split()[0] == second.splitlines()[-1].split()[0]
        case _:
            return False
