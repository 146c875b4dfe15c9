"""Compare one process on both sides: all kinds of things that are observed in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from esper_harness.report.plain import listed
from golden.compare.calls import compare_calls
from golden.compare.divergence import Divergence
from golden.compare.fields import compare_fields
from golden.compare.final_states import compare_final_states
from golden.compare.living import compare_living
from golden.compare.outcome import Compared
from golden.compare.reads import compare_reads, compare_values
from golden.compare.sides import Found, Sides, sides
from golden.compare.steps import compare_steps
from golden.compare.tolerance import Account
from golden.trace.moments import Moment
from golden.trace.tolerance import Tolerance
from golden.trace.trace import Process

Kind = Callable[[Sides], Found]
KINDS: tuple[Kind, ...] = (
    compare_steps,
    compare_fields,
    compare_calls,
    compare_reads,
    compare_values,
    compare_living,
    compare_final_states,
)


def compare_process(
    left: Process,
    right: Process,
    tolerances: Sequence[Tolerance] = (),
    account: Account | None = None,
    kinds: Sequence[Kind] = KINDS,
) -> tuple[Found, Callable[[Moment], Moment]]:
    """Compare kinds of one process on both sides; ``tolerances`` are of the final state.

    Also return what dates the right side by the steps of the left one.
    """
    both = sides(left, right, tolerances, account)
    unread = list(dict.fromkeys([*left.unread, *right.unread]))
    compared = Compared(
        uncompared=(f"what can't be read ({listed(unread, 3)})",) if unread else (),
        places=((right.name, right.place),) if right.place else (),
    )
    divergences: list[Divergence] = []
    for kind in kinds:
        found = kind(both)
        compared += found.compared
        divergences += found.divergences
    return Found(divergences, compared), both.aligned.on_the_left
