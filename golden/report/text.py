"""A comparison as plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from esper_harness.report.plain import listed, many, visible
from golden.compare.divergence import KIND_TITLES, Divergence
from golden.compare.outcome import (
    Compared,
    Comparison,
    Different,
    Identical,
    NotComparable,
    Tolerated,
)
from golden.compare.reads import COUNTS

MASKED = "reads like a time, a rate or an id, drawn over, or left out by the run file"
WITHIN_TOLERANCE = "equal within tolerance"
TOLERANCE_TITLES = {**KIND_TITLES, "events": "event field"}
_UNSTABLE_SHOWN = 20
_LINE = 4000
# So many differences of a kind are shown after the first one.
_OF_A_KIND = 5


def render(comparison: Comparison, *, left: str = "base", right: str = "head") -> str:
    """Return the verdict, the first divergence, what follows, and what was compared."""
    match comparison:
        case Identical(compared=compared):
            lines = [
                f"{verdict_word(comparison)}: {left} and {right}",
                *tolerance_lines(comparison.tolerated),
            ]
            lines += [f"compared: {amounts(compared)}", *gaps(compared)]
        case NotComparable(reason=reason):
            lines = [f"not comparable: {reason}"]
            if comparison.found is not None:
                lines += _different(comparison.found)
        case Different():
            lines = [f"different: {left} and {right}", *_different(comparison)]
    return "\n".join(visible(line, _LINE) for line in lines)


def verdict_word(found: Identical) -> str:
    """Return the word for a comparison that found no difference."""
    return WITHIN_TOLERANCE if found.tolerated else "identical"


def equal_lines(head: str, found: Identical, note: str = "") -> list[str]:
    """Say how much was compared without a difference, what passed by tolerance, and what was not compared."""
    amount = f"{head} ({amounts(found.compared)}){note}"
    return [amount, *tolerance_lines(found.tolerated), *gaps(found.compared)]


def tolerance_lines(tolerated: Sequence[Tolerated]) -> list[str]:
    """Say what passed by tolerance only: which numbers, how far apart, and why that is no error."""
    return [visible(_tolerated(one), _LINE) for one in tolerated]


def _tolerated(one: Tolerated) -> str:
    given = one.tolerance
    kind = TOLERANCE_TITLES[given.of]
    tensors = given.of not in ("events", "loss")
    differ = f"{many(one.values, 'tensor' if tensors else 'value')} differ{'s' if one.values == 1 else ''}"
    where = f"{differ}{' at the end' if tensors else ''} by up to {many(one.ulps, 'ulp')}"
    head = f"equal within {many(given.ulps, 'ulp')}: {kind} {given.field}"
    return f"{head} ({where}): {given.reason}"


def amounts(compared: Compared) -> str:
    """Say how much was compared of each kind, in one line."""
    parts = [
        many(compared.events, "event"),
        many(compared.steps, "optimizer step"),
        f"{many(compared.tensors, 'tensor')} ({size_text(compared.bytes)})",
        many(compared.scalars, "scalar"),
        many(compared.rng_states, "random state"),
        many(compared.reads, "host read"),
    ]
    if compared.outputs:
        parts.append(many(compared.outputs, "value") + " of output")
    if compared.living:
        parts.append(many(compared.living, "state") + " of modules and own generators")
    return ", ".join(parts)


def gaps(compared: Compared) -> list[str]:
    """Say what was not compared: not to be had, unstable, masked, or written where nothing looks."""
    without = list(compared.uncompared)
    if compared.left_out:
        which = many(compared.left_out, "final state")
        without.append(f"{which} too large to be kept (256 MiB), or of a type that can't be")
    lines = [f"not compared: {', '.join(without)}"] if without else []
    kinds = (("differs between two runs of the base", compared.unstable), (MASKED, compared.masked))
    lines += [f"not compared, {why}: {listed(what, _UNSTABLE_SHOWN)}" for why, what in kinds if what]
    lines += [f"not compared, written outside {{out}}: {each}" for each in compared.unwatched]
    return [visible(line, _LINE) for line in lines]


def not_compared(found: Comparison) -> tuple[str, ...]:
    """Say the same of a comparison; nothing of one that came to no judgement."""
    return () if isinstance(found, NotComparable) else tuple(gaps(found.compared))


def size_text(count: int) -> str:
    """Return an amount of bytes with its unit."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _different(found: Different) -> list[str]:
    lines = [*_indented(found.first, "first divergence: "), *following(found)]
    for divergence in found.rest:
        if divergence.kind == COUNTS:
            lines += _indented(divergence)
    lines += tolerance_lines(found.tolerated)
    return [*lines, f"compared: {amounts(found.compared)}", *gaps(found.compared)]


def following(found: Different) -> list[str]:
    """List what follows the first divergence, in the order of the run; not too many of a kind."""
    lines, shown = list[str](), Counter[str]()
    # Two optimizers of one model may end with the same difference: said once.
    heads = {describe(each)[0]: each.kind for each in found.rest if each.kind != COUNTS}
    for head, kind in heads.items():
        shown[kind] += 1
        lines += [f"  {head}"] if shown[kind] <= _OF_A_KIND else []
    left_out = len(heads) - len(lines)
    more = [f"  and {left_out:,} more"] if left_out else []
    return ["then:", *lines, *more] if heads else []


def _indented(divergence: Divergence, begin: str = "") -> list[str]:
    head, *details = describe(divergence)
    return [f"{begin}{head}", *(f"  {line}" for line in details)]


def describe(divergence: Divergence) -> list[str]:
    """Describe a divergence in a line that stands alone, then details; no name can break a line."""
    return [visible(line, _LINE) for line in divergence.lines]
