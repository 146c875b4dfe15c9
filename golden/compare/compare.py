"""Compare two traces: one verdict over events, steps, tensors, scalars and random states."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from esper_harness.report.plain import listed, many
from golden.compare.calls import RECEIVED, compare_calls
from golden.compare.divergence import Divergence
from golden.compare.events import compare_events
from golden.compare.fields import compare_fields
from golden.compare.final_states import compare_final_states
from golden.compare.living import compare_living
from golden.compare.outcome import (
    Compared,
    Comparison,
    Different,
    Identical,
    NotComparable,
    Tolerated,
)
from golden.compare.outputs import compare_outputs
from golden.compare.reads import compare_reads, compare_values
from golden.compare.sides import Found, Sides, sides
from golden.compare.steps import compare_steps
from golden.compare.tolerance import Account, agreed, forgive
from golden.trace.trace import IDS, Process, Trace, gap, titles
from golden.trace.unstable import leave_out, leave_out_ids

_SHOWN = 2
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


def compare(left: Trace, right: Trace) -> Comparison:
    """Compare two traces of one run. Equality is by bits; nothing compared is never identical."""
    found = judge(left, right)
    if isinstance(found, Identical) and not any(
        (found.compared.steps, found.compared.events, found.compared.outputs)
    ):
        return NotComparable("neither an event nor an optimizer step nor output on both sides")
    return found


def judge(
    left: Trace,
    right: Trace,
    counts: Sequence[Divergence] = (),
    kinds: Sequence[Kind] = KINDS,
) -> Comparison:
    """As `compare`, for a caller that knows what there is to compare; ``counts`` differ already."""
    if (otherwise := made_otherwise(left, right)) is not None:
        return otherwise
    masked = [*left.about.masked, *right.about.masked]
    if left.about.same_ids or right.about.same_ids:
        masked = [each for each in masked if not each.startswith(IDS)]
    else:
        left, right = leave_out_ids(left), leave_out_ids(right)
    unstable = list(dict.fromkeys([*left.about.unstable, *right.about.unstable]))
    left, right = leave_out(left, unstable), leave_out(right, unstable)
    account = Account()
    right = forgive(left, right, account)
    compared = Compared(
        events=min(len(left.events), len(right.events)),
        unstable=titles(unstable),
        unwatched=tuple(dict.fromkeys([*left.about.unwatched, *right.about.unwatched])),
        masked=tuple(dict.fromkeys(masked)),
    )
    divergences: list[Divergence] = [*counts]
    if len(left.processes) != len(right.processes):
        counts_of_processes = f"{len(left.processes)} in base, {len(right.processes)} in head"
        divergences.append(
            Divergence("steps", (-1, 0, 0), [f"processes that took steps: {counts_of_processes}"])
        )
    for a, b in _paired(left.processes, right.processes):
        both = sides(a, b, agreed(left, right), account)
        found = compare_process(both, kinds)
        compared += found.compared
        divergences += found.divergences
    written, amount = compare_outputs(left, right)
    compared += amount
    divergences += [*written, *compare_events(left.events, right.events)]
    tolerated = account.closed(agreed(left, right))
    if not divergences:
        return Identical(compared, tolerated)
    verdict = different(compared, divergences, tolerated)
    unequal = gap(left.about.fingerprint, right.about.fingerprint)
    if not unequal:
        return verdict
    return NotComparable(
        f"they differ, and were recorded under different fingerprints ({unequal}), where bits may differ "
        "without a cause in the code; record both on one machine",
        verdict,
    )


def compare_process(both: Sides, kinds: Sequence[Kind]) -> Found:
    """Compare some kinds of what is observed in one process."""
    left, right = both.left, both.right
    unread = list(dict.fromkeys([*left.unread, *right.unread]))
    compared = Compared(
        uncompared=(f"what can't be read ({listed(unread, 3)})",) if unread else (),
    )
    divergences: list[Divergence] = []
    for kind in kinds:
        found = kind(both)
        compared += found.compared
        divergences += found.divergences
    return Found(divergences, compared)


def _paired(left: Sequence[Process], right: Sequence[Process]) -> list[tuple[Process, Process]]:
    """Return processes of one name; those whose names the other side lacks in their order."""
    others = {process.name: process for process in right}
    rest = iter([process for process in right if process.name not in {p.name for p in left}])
    sides = [(process, others.get(process.name) or next(rest, None)) for process in left]
    return [(a, b) for a, b in sides if b is not None]


def different(
    compared: Compared, divergences: Sequence[Divergence], tolerated: tuple[Tolerated, ...] = ()
) -> Different:
    """Put what was found in the order of the run; events of unknown place come after steps."""
    received = {d.process: d.at[:2] for d in divergences if d.at[2] == RECEIVED}

    def place(found: Divergence) -> tuple[float, bool, float, float]:
        number, point, rank = found.at
        # What a process received and did not make itself comes behind what others made at that step.
        follows = found.process in received and (number, point) >= received[found.process]
        return (number, follows, point, rank)

    first, *rest = sorted(divergences, key=place)
    return Different(compared, first, tuple(rest), tolerated)


def made_otherwise(left: Trace, right: Trace) -> NotComparable | None:
    """Return the verdict where both sides have a tensor, and a side made its digests otherwise.

    Such digests say nothing about each other.
    """
    a, b = _ways(left), _ways(right)
    names = [f"{key[0]} {key[-1]}".strip() for key, how in a.items() if b.get(key, how) != how]
    if not names:
        return None
    tensors = f"{many(len(names), 'tensor')} ({listed(names, _SHOWN)})"
    return NotComparable(
        f"digests of {tensors} were made on the host on one side and on the device on the other, which says "
        "nothing about the tensors. Record both again (a golden with `golden record RUN --update`), with one "
        "`digests` in [observe] of its run file"
    )


def _ways(trace: Trace) -> dict[tuple[str, str, str], set[str]]:
    """Collect how the digests of each tensor were made, of optimizers' tensors and of modules'."""
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for process in trace.processes:
        modules = (module for look in process.looks for module in look.modules)
        owners = {id(step.layout): ("", step.layout.tensors) for step in process.steps}
        owners |= {id(module.form): (module.group, module.form.tensors) for module in modules}
        for owner, tensors in owners.values():
            for kind, infos in tensors.items():
                for info in infos:
                    if info.elements:
                        found[kind, owner, info.name].add(info.digest)
    return found
