"""The verdict on a run as plain text."""

from __future__ import annotations

from esper_harness.report.plain import visible
from golden.check.localize import Localized
from golden.check.properties import Agreement, Property
from golden.check.verify import Failed, Judged, NoGolden, Verdict
from golden.compare import Comparison, Different, Identical, NotComparable
from golden.report.text import equal_lines, render, tolerance_lines, verdict_word
from golden.trace.streams import of_process

_ALL_AGREE = "all that were logged agree; the difference arises outside torch's operations, or after them"


def render_verdict(verdict: Verdict) -> str:
    """Return one line for a run that is as it was; the divergence, or the way out, for another."""
    match verdict:
        case Judged(run=run, comparison=Identical() as found):
            elsewhere = f"; the golden is of another machine ({verdict.golden})" if verdict.elsewhere else ""
            return "\n".join(equal_lines(f"{run}: {verdict_word(found)}", found, elsewhere))
        case Judged(run=run, comparison=comparison):
            text = render(comparison, left="golden", right="this run")
            if isinstance(comparison, Different):
                text += f"\n  for both sides: golden ab {run} --base REF, with REF the last good version"
            return f"{run}: {text}"
        case NoGolden(run=run):
            return f"{run}: {_no_golden(verdict)}"
        case Property():
            return "\n".join(_agreement(verdict, agreement) for agreement in verdict.agreements)
        case Failed(run=run, message=message):
            return f"{run}: failed: {visible(message, 4000)}"


def comparisons(verdict: Verdict) -> list[Comparison]:
    """Return the comparisons that a verdict was made by."""
    match verdict:
        case Judged(comparison=comparison):
            return [comparison]
        case Property(agreements=agreements):
            return [agreement.comparison for agreement in agreements]
    return []


def tolerances_of(verdict: Verdict) -> list[str]:
    """Say what passed by a tolerance only."""
    equal = (found for found in comparisons(verdict) if isinstance(found, Identical))
    return [line for found in equal for line in tolerance_lines(found.tolerated)]


def _agreement(verdict: Property, agreement: Agreement) -> str:
    place = f"{verdict.run}, {verdict.name}"
    match agreement.comparison:
        case Identical() as found:
            return "\n".join(equal_lines(f"{place}: holds for {agreement.right}", found))
        case NotComparable(reason=reason):
            return f"{place}: not comparable for {agreement.right}: {reason}"
        case Different():
            text = render(agreement.comparison, left=agreement.left, right=agreement.right)
            return f"{place}: broken: {verdict.says}\n{text}"


def render_localized(found: Localized) -> str:
    """Return the step with its values, and the operation where the sides part."""
    head = render(found.comparison, left=found.left.title, right=found.right.title)
    return "\n".join([head, *closely(found)])


def closely(found: Localized) -> list[str]:
    """Return the operation and the line where the sides part, for each process."""
    lines = []
    for process, told in found.operations:
        where = f"operations before step {found.step}{of_process(process)}"
        lines.append(f"{where}: {told or _ALL_AGREE}")
    for process, told in found.lines:
        lines.append(f"lines before step {found.step}{of_process(process)}: {told}")
    if not found.operations:
        lines.append(f"no operation was logged before step {found.step} on both sides")
    return lines


def _no_golden(verdict: NoGolden) -> str:
    known = f" (there is one for {', '.join(verdict.known)})" if verdict.known else ""
    wayout = (
        f"compare two versions here with `golden ab {verdict.run} --base REF`, or record one with "
        f"`golden record {verdict.run} --update`"
    )
    if verdict.nearest is not None and not isinstance(verdict.common, Different):
        differs = render(verdict.nearest, left=f"the golden {verdict.known[0]}", right="this run")
        return (
            f"differs from the golden of another machine, and this one computes other bits "
            f"({verdict.unlike}); {wayout}\n{differs}"
        )
    match verdict.common:
        case None:
            return f"no golden for this machine{known}; {wayout}"
        case Identical(compared=compared):
            same = (
                f"what holds everywhere is identical ({compared.events:,} events, "
                f"{compared.outputs:,} values)"
            )
            return f"no golden for this machine{known}; {same}; {wayout}"
        case NotComparable(reason=reason):
            return f"no golden for this machine{known}; {reason}; {wayout}"
        case Different():
            text = render(verdict.common, left="what holds everywhere", right="this run")
            return f"no golden for this machine{known}; {text}"
