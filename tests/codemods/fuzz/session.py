"""A run of many seeds within a time: what came out, and the failures as cases ready for the hazard corpus."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.codemods.fuzz.check import SPLIT, Broken, Different, Same, Tool, Unusable, Verdict, check, reduce
from tests.codemods.fuzz.dress import WARDROBE
from tests.codemods.fuzz.flows import from_seed as flow_program
from tests.codemods.fuzz.programs import from_seed as any_program

MODES: tuple[tuple[str, ...], ...] = ((), ("--to", "helpers.py"), (), SPLIT)
"""The tool's options, which take turns from seed to seed."""


def program_of(seed: int) -> str:
    """Return the program of a seed: one in three is mostly control flow."""
    return flow_program(seed) if seed % 3 == 2 else any_program(seed)


@dataclass(frozen=True, slots=True)
class Failure:
    """A program that the tool got wrong, as small as it could be made."""

    seed: int
    options: tuple[str, ...]
    program: str
    what: str

    def as_case(self) -> str:
        """Return the failure as text to be added to the corpus."""
        arguments = " ".join(["program.py", *self.options])
        fence = "```"
        return (
            f"## F{self.seed}: {self.what.splitlines()[-1]}\n\n- expect: * either\n- extract: {arguments}\n\n"
            f"{fence}python orig program.py\n{self.program}{fence}\n\n"
            f"{fence}python orig main.py\nimport program\n{fence}\n"
        )


@dataclass(slots=True)
class Tally:
    """Totals of a session; `statuses` counts helpers, `codes` refusals."""

    programs: int = 0
    unusable: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        helpers = max(1, self.statuses["lifted"] + self.statuses["refused"])
        lines = [
            f"{self.programs} programs ({self.unusable.total()} unusable), {helpers} helpers,"
            f" {100 * self.statuses['lifted'] / helpers:.0f} % lifted"
        ]
        counts = [*self.codes.most_common(), *self.unusable.most_common(5)]
        return "\n".join(lines + [f"  {count:7} {what}" for what, count in counts])


def session(tool: Tool, first_seed: int, seconds: float, tally: Tally) -> Iterator[Failure]:
    """Check one seed after the other until the time is over; yield each failure when it has been reduced."""
    end = time.monotonic() + seconds
    seed, crashes = first_seed, set[str]()
    while time.monotonic() < end:
        options = MODES[seed % len(MODES)]
        program = program_of(seed)
        dress = WARDROBE[seed % len(WARDROBE)]
        verdict = check(program, tool, options, dress)
        tally.programs += 1
        match verdict:
            case Unusable(why):
                tally.unusable[why] += 1
            case Same(lifted):
                tally.statuses.update(status for _, status, _ in lifted.helpers)
                tally.codes.update(code for _, status, code in lifted.helpers if status == "refused")
            case Broken(what) if what.splitlines()[-1] in crashes:
                tally.unusable["crashes like one before"] += 1
            case Different(what) | Broken(what):
                crashes.add(what.splitlines()[-1])
                small = reduce(program, lambda text: alike(check(text, tool, options, dress), verdict))
                yield Failure(seed, options, small, what)
        seed += 1


def alike(one: Verdict, other: Verdict) -> bool:
    """Tell whether two failures are of one kind."""
    match one, other:
        case Different(first), Different(second):
            return first.split()[:3:2] == second.split()[:3:2]
        case Broken(first), Broken(second):
            return first.splitlines()[-1].split()[0] == second.splitlines()[-1].split()[0]
        case _:
            return False
