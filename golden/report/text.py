"""A comparison as plain text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from esper_harness.report.plain import visible
from golden.compare.outcome import (
    CallChange,
    Compared,
    Comparison,
    Different,
    Distance,
    Divergence,
    EnvVerdict,
    EventChange,
    FieldChange,
    FinalState,
    Identical,
    KindChange,
    LivingState,
    NotComparable,
    OutputChange,
    ProcessCount,
    RandomState,
    ReadCount,
    ReadValue,
    Rows,
    StepCount,
    StepDivergence,
    StepOrder,
    TensorChange,
    Tolerated,
)
from golden.trace.numbers import apart_text, far_apart

KIND_TITLES = {
    "layout": "names or shapes",
    "buffers": "buffer",
    "loss": "loss",
    "grads": "gradient",
    "settings": "setting",
    "params": "parameter",
    "state": "optimizer state",
    "rng": "random state",
    "training": "training flag",
    "requires_grad": "requires_grad",
    "extra": "extra state",
    "attributes": "attribute",
    "whole": "state",
}
MASKED = "reads like a time or a rate, or left out by the run file"
WITHIN_TOLERANCE = "equal within tolerance"
TOLERANCE_TITLES = {**KIND_TITLES, "events": "event field"}
_SHOWN = 10
_UNSTABLE_SHOWN = 20
_LINE = 4000
# How many of them are shown, so that none of them hides the others.
_SHARES: dict[type[Divergence], tuple[str, int]] = {
    EventChange: ("changed events", 5),
    FinalState: ("final states", 2),
}
_KINDS_SHOWN = 5
_FIELDS_SHOWN = 3
_LONG_VALUE = 120


def render(comparison: Comparison, *, left: str = "base", right: str = "head") -> str:
    """The verdict, the first divergence, what follows, and what was compared."""
    match comparison:
        case Identical(compared=compared):
            lines = [
                f"{verdict_word(comparison)}: {left} and {right}{not_kept(compared)}",
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


def placed(lines: Sequence[str], found: Comparison) -> list[str]:
    """Ranks with their place in a mesh of devices, where they have one: ``rank 3 (dp 1, tp 1)``."""
    compared = found.compared if not isinstance(found, NotComparable) else None
    by_rank = {name.removeprefix("rank-"): place for name, place in compared.places} if compared else {}
    if not by_rank:
        return list(lines)

    def put(match: re.Match[str]) -> str:
        place = by_rank.get(match[1])
        return f"rank {match[1]} ({place})" if place else match[0]

    return [re.sub(r"\brank[ -](\d+)\b", put, line) for line in lines]


def verdict_word(found: Identical) -> str:
    """What a comparison that found no difference is called."""
    return WITHIN_TOLERANCE if found.tolerated else "identical"


def tolerance_lines(tolerated: Sequence[Tolerated]) -> list[str]:
    """What passed by tolerance only: which numbers, how far apart, and why that is no error."""
    return [visible(_tolerated(one), _LINE) for one in tolerated]


def _tolerated(one: Tolerated) -> str:
    given = one.tolerance
    kind = TOLERANCE_TITLES[given.of]
    tensors = given.of not in ("events", "loss")
    differ = f"{many(one.values, 'tensor' if tensors else 'value')} differ{'s' if one.values == 1 else ''}"
    where = f"{differ}{' at the end' if tensors else ''} by up to {many(one.ulps, 'ulp')}"
    steps = f", by how much in {many(one.steps, 'step')} before is not known" if one.steps else ""
    head = f"equal within {many(given.ulps, 'ulp')}: {kind} {given.field}"
    return f"{head} ({where}{steps}): {given.reason}"


def amounts(compared: Compared) -> str:
    """How much was compared, in one line."""
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
    text = ", ".join(parts)
    return f"{text}; not compared: {', '.join(compared.uncompared)}" if compared.uncompared else text


def gaps(compared: Compared) -> list[str]:
    """What was not compared: unstable, masked, or written where nothing looks; a line each."""
    kinds = (("differs between two runs of the base", compared.unstable), (MASKED, compared.masked))
    lines = [f"not compared, {why}: {_some(what)}" for why, what in kinds if what]
    lines += [f"not compared, written outside {{out}}: {each}" for each in compared.unwatched]
    return [visible(line, _LINE) for line in lines]


def _some(what: Sequence[str]) -> str:
    more = len(what) - _UNSTABLE_SHOWN
    return ", ".join(what[:_UNSTABLE_SHOWN]) + (f", and {more} more" if more > 0 else "")


def not_kept(compared: Compared) -> str:
    """What of the end of the run was not compared, and why, to be read with the verdict."""
    if not compared.left_out:
        return ""
    which = many(compared.left_out, "final state")
    return f", but for {which} too large to be kept (256 MiB), or of a type that can't be"


def many(count: int, noun: str) -> str:
    """A number of things in words."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def size_text(count: int) -> str:
    """An amount of bytes with its unit."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _different(found: Different) -> list[str]:
    head, *details = describe(found.first)
    lines = [f"first divergence: {head}", *(f"  {line}" for line in details)]
    events = [divergence for divergence in (found.first, *found.rest) if isinstance(divergence, EventChange)]
    if events and events[0] is not found.first:
        head, *details = describe(events[0])
        lines += [f"first changed event: {head}", *(f"  {line}" for line in details)]
    if found.envs:
        lines.append(env_line(found.envs))
    lines += following(found, without=events[:1])
    for divergence in found.rest:
        if isinstance(divergence, ReadCount):
            head, *details = describe(divergence)
            lines += [head, *(f"  {line}" for line in details)]
    if found.event_changes:
        kinds = Counter(event.kind for event in events).most_common()
        shown = ", ".join(f"{count:,} {kind}" for kind, count in kinds[:_KINDS_SHOWN])
        more = f", {len(kinds) - _KINDS_SHOWN} more types" if len(kinds) > _KINDS_SHOWN else ""
        lines.append(f"events: {many(found.event_changes, 'change')} ({shown}{more})")
    lines = placed(lines, found)
    lines += tolerance_lines(found.tolerated)
    return [*lines, f"compared: {amounts(found.compared)}", *gaps(found.compared)]


def following(found: Different, *, without: Sequence[Divergence] = ()) -> list[str]:
    """What comes after the first divergence, in the order of the run; of events and final states a part."""
    heads: dict[str, None] = {}
    left_out: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for divergence in found.rest:
        if isinstance(divergence, ReadCount) or divergence in without:
            continue
        # Two optimizers of one model may end with the same difference: said once.
        head = describe(divergence)[0]
        noun, most = _SHARES.get(type(divergence), ("", _SHOWN))
        if head in heads:
            continue
        if shown[noun] < most:
            shown[noun] += 1
            heads[head] = None
        else:
            left_out[noun] += 1
    if not heads:
        return []
    rest = [f"  and {count:,} more {noun}".rstrip() for noun, count in left_out.items()]
    return ["then:", *(f"  {head}" for head in heads), *rest]


def env_line(envs: tuple[EnvVerdict, ...]) -> str:
    """The fate of every environment in one line."""
    same = [str(e.env) for e in envs if e.identical]
    parts = []
    for env in envs:
        if env.first_step is not None:
            parts.append(f"env {env.env} diverges at step {env.first_step}")
        elif env.first_event is not None:
            parts.append(f"env {env.env} differs in events only, from event {env.first_event}")
    if not parts:
        return f"all {len(envs)} envs are identical" if len(envs) > 1 else f"env {same[0]} is identical"
    if same:
        verb = ("envs", "are") if len(same) > 1 else ("env", "is")
        parts.append(f"{verb[0]} {', '.join(same)} {verb[1]} identical")
    return "; ".join(parts)


def describe(divergence: Divergence) -> list[str]:
    """One divergence: a line that stands alone, then details; what the program named can't break a line."""
    return [visible(line, _LINE) for line in _described(divergence)]


def _described(divergence: Divergence) -> list[str]:
    match divergence:
        case StepDivergence(stream=stream, step=step, number=number, kinds=kinds):
            optimizer = f", {divergence.optimizer}" if divergence.optimizer else ""
            place = f"step {step} of {stream.title} (step {number} overall{optimizer})"
            head = f"{place}: {_kind(kinds[0])}"
            return [head, *_tensors(kinds), f"last identical: {divergence.before}"]
        case StepCount(stream=stream, left=left, right=right) if divergence.between:
            side, apart = ("base", left - right) if left > right else ("head", right - left)
            where = f"{many(apart, 'step')} more of {stream.title} in {side}"
            return [f"{where}, at step {divergence.number} overall: {left} in base, {right} in head"]
        case StepCount(stream=stream, left=left, right=right):
            return [f"number of steps of {stream.title}: {left} in base, {right} in head"]
        case StepOrder(number=number, left=a, right=b):
            sides = f"of {a.title} in base, of {b.title} in head"
            return [f"order of steps: step {number} overall is {sides}"]
        case RandomState(number=number, generators=generators):
            where = f"after step {number} overall" if number is not None else "at the end of the run"
            return [
                f"random state {where}: {', '.join(generators)}",
                f"last identical: {divergence.before}",
            ]
        case FinalState(stream=stream, kinds=kinds):
            return [f"final state of {stream.title}: {_kind(kinds[0])}", *_tensors(kinds)]
        case EventChange():
            return _event(divergence)
        case OutputChange():
            return _output(divergence)
        case ReadCount():
            return _reads(divergence)
        case ReadValue():
            return _read_values(divergence)
        case LivingState():
            return _living(divergence)
        case CallChange():
            return [_call(divergence)]
        case ProcessCount(left=left, right=right):
            return [f"processes that took steps: {left} in base, {right} in head"]
        case Rows(part=part, left=left, right=right):
            return [f"{part}: {left} -> {right}"]


def _kind(change: KindChange) -> str:
    name = KIND_TITLES[change.kind]
    if not change.tensors:
        return name
    first = change.tensors[0]
    more = f" and {len(change.tensors) - 1} more" if len(change.tensors) > 1 else ""
    return f"{name} {first.name}{more}{_apart(first)}"


def _tensors(kinds: tuple[KindChange, ...]) -> list[str]:
    lines = []
    for change in kinds:
        if not change.tensors:
            lines.append(f"{KIND_TITLES[change.kind]}: differs")
            continue
        lines.append(f"{KIND_TITLES[change.kind]}: {len(change.tensors)} of {change.total} differ")
        lines += [f"  {tensor.name}{_apart(tensor)}" for tensor in change.tensors[:_SHOWN]]
        if len(change.tensors) > _SHOWN:
            lines.append(f"  and {len(change.tensors) - _SHOWN} more")
    return lines


def _apart(change: TensorChange) -> str:
    if change.note:
        return f": {change.note}"
    if change.distance is None:
        return ""
    return f": {distance_text(change.distance)}"


def distance_text(apart: Distance) -> str:
    """A distance in words."""
    parts = [f"{apart.differing} of {apart.elements} elements"]
    share = _share(apart.left, apart.right)
    if apart.ulps is not None and not share:
        parts.append(f"up to {many(apart.ulps, 'ulp')}")
    if apart.absolute is not None:
        parts.append(f"{apart.absolute:.3g} absolute")
    if apart.nan_left or apart.nan_right:
        parts.append(f"NaN: {apart.nan_left} in base, {apart.nan_right} in head")
    parts.append(f"first at {list(apart.index)}: {apart.left} -> {apart.right}{share}")
    return ", ".join(parts)


def _share(left: str, right: str) -> str:
    try:
        found = far_apart(float(left), float(right))
    except ValueError:
        return ""
    return f" ({found})" if found else ""


def _reads(found: ReadCount) -> list[str]:
    if found.stream is None:
        where = "after the last step" + ("" if found.process == "rank-0" else f" of {found.process}")
    else:
        where = f"before step {found.step} of {found.stream.title} (step {found.number} overall)"
    lines = [f"host reads {where}: {found.left} -> {found.right}"]
    lines += [f"{site.title}: {site.left} -> {site.right}" for site in found.sites[:_SHOWN]]
    if len(found.sites) > _SHOWN:
        lines.append(f"and {len(found.sites) - _SHOWN} more places")
    if found.steps:
        lines.append(f"another number of reads before {found.steps:,} of {many(found.total, 'step')}")
    return lines


def _living(found: LivingState) -> list[str]:
    process = "" if found.process == "rank-0" else f" of {found.process.replace('-', ' ')}"
    first, *more = found.changes
    if found.number is None:
        where = "at the end"
    else:
        where = f"after step {found.number} overall" if found.after else f"at {found.look} overall"
    others = f" and {many(len(more), 'other')}" if more else ""
    lines = [f"{first.title}{process} {where}{others}: {_kind(first.kinds[0])}"]
    lines += [line for line in _tensors(first.kinds) if not line.endswith("differs")]
    lines += [f"{change.title}: {_kind(change.kinds[0])}" for change in more[:_SHOWN]]
    before = found.before.replace(", before", ": before")
    return [*lines, f"last identical: {before}"]


def _call(found: CallChange) -> str:
    rank = found.process.replace("-", " ")
    when = f"before step {found.number} overall" if found.number is not None else "after the last step"
    where = f"{rank}, call {found.index} of other ranks {when}"
    match found.change:
        case "sequence":
            return f"{where}: {found.left} -> {found.right}"
        case "gives":
            return f"{where}: {found.left} is given other values"
        case "gets":
            return f"{where}: {found.left} gets other values"


def _read_values(found: ReadValue) -> list[str]:
    if found.stream is None:
        where = "after the last step" + ("" if found.process == "rank-0" else f" of {found.process}")
    else:
        where = f"before step {found.step} of {found.stream.title} (step {found.number} overall)"
    first, *more = found.sites
    lines = [f"value that the host reads {where}: {first.title}: {first.left} -> {first.right}"]
    lines += [f"{site.title}: {site.left} -> {site.right}" for site in more[: _SHOWN - 1]]
    return lines


def _event(change: EventChange) -> list[str]:
    env = f" of env {change.env}" if change.env is not None else ""
    lines: list[str] = []
    match change.change:
        case "missing":
            head = f"event {change.left} ({change.kind}){env} is missing in head"
        case "extra":
            head = f"event {change.right} ({change.kind}){env} is extra in head"
        case "moved":
            head = f"event {change.left} ({change.kind}){env} has moved to place {change.right}"
        case "changed":
            fields = sorted(change.fields, key=_weight)
            told = "; ".join(field_text(field) for field in fields[:_FIELDS_SHOWN])
            more = f"; {len(fields) - _FIELDS_SHOWN} more fields" if len(fields) > _FIELDS_SHOWN else ""
            head = f"event {change.left} ({change.kind}){env}: {told}{more}"
            lines += [field_text(field) for field in fields[_FIELDS_SHOWN:_SHOWN]]
    if change.moment is not None:
        lines.append(f"written before step {change.moment[0]} overall")
    return [head, *lines, f"last identical: {change.before}"]


def _weight(field: FieldChange) -> tuple[int, float, str]:
    """What changes by itself first, and what changes most: words and counts, then numbers by their share."""
    if field.left is None or field.right is None:
        return (0, 0.0, field.path)
    if field.ulps is None:
        return (1, 0.0, field.path)
    left, right = float(field.left), float(field.right)
    # Zeros of two signs differ by their bits alone.
    largest = max(abs(left), abs(right)) or 1.0
    return (2, -abs(right - left) / largest, field.path)


def _output(change: OutputChange) -> list[str]:
    where = f"{change.output}, {change.place}" if change.place else change.output
    match change.change:
        case "missing" | "extra" if not change.place:
            return [f"{where} is {change.change} in head"]
        case "missing" | "extra":
            first = change.fields[0] if change.fields else None
            text = (first.left or first.right or "") if first else ""
            head = f"{where} is {change.change} in head" + (f": {_from(text, 0)}" if text else "")
        case "moved":
            head = f"{where} has moved"
        case _ if not change.fields:
            head = f"{where} is another one"
        case _:
            head = f"{where}: {_output_field(change.fields[0])}"
    lines = [head]
    if change.change == "changed":
        lines += [_output_field(field) for field in change.fields[1:_SHOWN]]
    more = change.total - (len(change.fields) if not change.place else 1)
    if change.total > 1 and (change.place or change.total > _SHOWN):
        unit = "lines or rows" if change.place else "fields"
        lines.append(f"{change.total:,} {unit} of it differ" if more else "")
    return [line for line in lines if line]


def _output_field(field: FieldChange) -> str:
    if field.path == "line" and field.left is not None and field.right is not None:
        left, right = _near_difference(field.left, field.right)
        return f"{left} -> {right}"
    return field_text(field)


def field_text(field: FieldChange) -> str:
    """One changed field in words."""
    if field.left is None:
        return f"field {field.path} is extra ({field.right})"
    if field.right is None:
        return f"field {field.path} is missing (was {field.left})"
    far = apart_text(float(field.left), float(field.right), field.ulps) if field.ulps is not None else ""
    apart = f" ({far})" if far else ""
    left, right = _near_difference(field.left, field.right)
    return f"field {field.path}: {left} -> {right}{apart}"


def _near_difference(left: str, right: str) -> tuple[str, str]:
    """Two values, long ones only from a little before the first character that differs."""
    if len(left) <= _LONG_VALUE and len(right) <= _LONG_VALUE:
        return left, right
    pairs = enumerate(zip(left, right, strict=False))
    same = next((place for place, (a, b) in pairs if a != b), min(len(left), len(right)))
    start = max(0, same - _LONG_VALUE // 4)
    return _from(left, start), _from(right, start)


def _from(value: str, start: int) -> str:
    stop = start + _LONG_VALUE
    before = f"({start:,} characters) …" if start else ""
    after = f"… ({len(value):,} in all)" if len(value) > stop else ""
    return f"{before}{value[start:stop]}{after}"
