"""Modules and own generators of two processes: the first look at which any of them differs.

Only looks that both sides took are compared, and at each only what lived on both: how long something lives is
no part of what a program computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from dataclasses import replace
from typing import TypeVar

from esper_harness.report.plain import listed, many, ordinal
from golden.compare.divergence import (
    END,
    SHOWN,
    Divergence,
    KindChange,
    changed,
    kind_text,
    other_text,
    tensor_lines,
)
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides
from golden.trace.kinds import MODULE_KINDS
from golden.trace.living import Look, ModuleState, OwnGenerator
from golden.trace.streams import of_process
from golden.trace.tensors import by_name
from golden.trace.trace import Process

KIND = "modules and own generators"
T = TypeVar("T")


# A module, or a generator of the program's own, by its title, and in what it is in another state.
Change = tuple[str, Sequence[KindChange]]


def living_state(process: str, look: Look, changes: Sequence[Change], before: str, since: int) -> Divergence:
    """Tell of the first look at which something differs; ``before`` it was the last one that is identical."""
    (title, kinds), *more = changes
    if look.number is None:
        # The final states of optimizers tell more.
        where, at = "at the end", (END, END, 9.0)
    elif look.after:
        where, at = f"after step {look.number} overall", (look.number, END, 6.0)
    else:
        # Seen since the step before, so before the backward passes of this one.
        where, at = f"at {_told(look.name)} overall", (look.number, 0.0, 1.0)
    others = f" and {many(len(more), 'other')}" if more else ""
    lines = [f"{title}{of_process(process)} {where}{others}: {kind_text(kinds[0])}"]
    lines += [line for line in tensor_lines(kinds) if not line.endswith("differs")]
    lines += [f"{title}: {kind_text(kinds[0])}" for title, kinds in more[:SHOWN]]
    return Divergence(KIND, at, [*lines, f"last identical: {_told(before)}"], process, look.number, since)


_OCCASION = re.compile(r"(?:file (.+)|(torch\.save)|(loader)), time (\d+), before (step \d+)", re.DOTALL)


def _told(look: str) -> str:
    """Return the name of a look in words: ``file a.txt, time 2, before step 3`` is a 2nd write of a.txt."""
    found = _OCCASION.fullmatch(look)
    if found is None:
        return look
    file, save, _, time, step = found.groups()
    what = f"write of {file}" if file else f"call of {save}" if save else "pass over a DataLoader"
    return f"the {ordinal(int(time))} {what}, before {step}"


def compare_living(sides: Sides) -> Found:
    """Return the first moment at which something that lives differs.

    Once the sides are not at the same step any more, only the end is compared.
    """
    left, right, until = sides.left, sides.right, sides.until
    failed = left.unlooked or right.unlooked
    if failed or not left.looks or not right.looks:
        why = (f"modules and own generators ({failed} as they were looked at)",) if failed else ()
        if bool(left.looks) != bool(right.looks):
            why = ("modules and own generators (one side was recorded without them)",)
        return Found((), Compared(uncompared=why))
    others = {look.name: look for look in right.looks}
    # Those that went at another time were last seen at another time.
    went = [process.looks[-1].gone for process in (left, right)]
    kept = {label for label in went[0].keys() | went[1] if went[0].get(label) != went[1].get(label)}
    found: list[Divergence] = []
    compared = 0
    alone: dict[str, None] = {}
    before, since = "the start", 0
    for look in left.looks:
        other = others.get(look.name)
        if other is None or (until is not None and look.number is not None and look.number >= until):
            continue
        if look is left.looks[-1]:
            alone |= dict.fromkeys(sorted(kept))
            look, other = _without(look, kept), _without(other, kept)
        changes, amount, lonely = _compare_look(look, other)
        compared += amount
        alone |= dict.fromkeys(lonely)
        if changes and not found:
            found.append(living_state(left.name, look, changes, before, since))
        before, since = look.name, look.number or 0
    uncompared = [*_unlooked(left, right)]
    uncompared += [f"what lived on one side only ({listed(alone, 3)})"] if alone else []
    return Found(found, Compared(living=compared, uncompared=tuple(uncompared)))


def _without(look: Look, labels: Set[str]) -> Look:
    return replace(look, modules=tuple(module for module in look.modules if module.label not in labels))


def _unlooked(left: Process, right: Process) -> Iterator[str]:
    sides = [process.looks for process in (left, right)]
    if any(look.generators is None for looks in sides for look in looks):
        yield "own generators while threads may draw from them"
    last = max((looks[-1] for looks in sides), key=lambda look: look.unseeded)
    if last.unseeded:
        where = f" (at {', '.join(last.unseeded_at)})" if last.unseeded_at else ""
        yield f"{many(last.unseeded, 'generator')} made without a seed{where}"
    beyond = max(looks[-1].beyond for looks in sides)
    if beyond:
        yield f"{beyond} more modules or own generators"


def _compare_look(left: Look, right: Look) -> tuple[list[Change], int, list[str]]:
    """Return the changes of one look, how much was compared, and what lived on one side only.

    Where both sides have as many modules of a class, the first belongs to the first, and so on. Where one
    has more, which of them is which of the other side's is not known: it kept something longer.
    """
    changes, others, alone = list[Change](), list[Change](), list[str]()
    for here, there in _groups(left.modules, right.modules, lambda module: module.group):
        if len(here) != len(there):
            alone += [m.label for side in unmatched(here, there, lambda m: m.content) for m in side]
            continue
        # In order of creation: two that took each other's place differ.
        for a, b in zip(here, there, strict=True):
            if a.content != b.content and (kinds := _kinds(a, b)):
                name = a.group if kinds[0].kind == "whole" else a.label
                changes.append((f"module {name}", kinds))
            kind, lonely_names = _attributes(a, b)
            alone += lonely_names
            others += [(f"module {a.label}", [kind])] if kind is not None else []
    compared = min(len(left.modules), len(right.modules))
    changes += others
    if left.generators is not None and right.generators is not None:
        compared += min(len(left.generators), len(right.generators))
        # In which order generators are made is no behaviour: a refactoring may prepare its envs otherwise.
        for mine, theirs in _groups(left.generators, right.generators, lambda generator: generator.kind):
            lonely, rest = unmatched(mine, theirs, lambda generator: generator.state)
            if len(mine) == len(theirs):
                changes += [(_title(a), [KindChange("rng", 1, {})]) for a in lonely]
            else:
                alone += [f"{each.kind} generator made at {each.place}" for each in (*lonely, *rest)]
    return changes, compared, alone


def _title(generator: OwnGenerator) -> str:
    kind = "Python" if generator.kind == "python" else generator.kind
    return f"{kind} generator made at {generator.place}" if generator.place else kind


def _groups(
    left: Sequence[T], right: Sequence[T], group: Callable[[T], str]
) -> Iterator[tuple[list[T], list[T]]]:
    for name in dict.fromkeys([*map(group, left), *map(group, right)]):
        yield [x for x in left if group(x) == name], [y for y in right if group(y) == name]


def unmatched(
    left: Sequence[T], right: Sequence[T], content: Callable[[T], Hashable]
) -> tuple[list[T], list[T]]:
    """Return what of both sides has no equal on the other one."""
    lonely, rest = list[T](), list(right)
    for x in left:
        equal = next((y for y in rest if content(y) == content(x)), None)
        if equal is None:
            lonely.append(x)
        else:
            rest.remove(equal)
    return lonely, rest


def _tensors(state: ModuleState, kind: str) -> dict[str, str]:
    """Return the digests of one kind by name."""
    found = by_name(state.form.tensors, state.digests, kind)
    return {name: digest for name, (_, digest) in found.items()}


def _kinds(a: ModuleState, b: ModuleState) -> list[KindChange]:
    """List the kinds of state in which two modules differ."""
    found: list[KindChange] = []
    if "" in _tensors(a, "params"):
        # A golden keeps one digest for a module.
        return [KindChange("whole", 0, {})]
    for kind in MODULE_KINDS:
        digests = _tensors(a, kind), _tensors(b, kind)
        change = changed(kind, *digests, lambda _, x, y: "" if x != y else None)
        found += [change] if change is not None else []
    if a.form.tensors != b.form.tensors and not found:
        found.append(KindChange("layout", 0, {}))
    parameters = [info.name for info in a.form.tensors["params"]]
    for flag, names, before, now in (
        ("training", a.form.modules, a.training, b.training),
        ("requires_grad", parameters, a.requires_grad, b.requires_grad),
    ):
        if before != now:
            found.append(KindChange(flag, len(before), _flags(names, before, now)))
    extra = changed("extra", a.extra, b.extra, other_text)
    return [*found, extra] if extra is not None else found


def _attributes(a: ModuleState, b: ModuleState) -> tuple[KindChange | None, list[str]]:
    """List the attributes that differ, and those that one side lacks: a name is no behaviour."""
    if a.attributes is None or b.attributes is None or a.attributes == b.attributes:
        return None, []
    x, y = a.attributes, b.attributes
    alone = [f"attribute {path} of {a.label}" for path in sorted(x.keys() ^ y.keys())]
    changes = {path: f"{x[path]} -> {y[path]}" for path in x if x[path] != y.get(path, x[path])}
    return (KindChange("attributes", len(x), changes) if changes else None), alone


def _flags(names: Sequence[str], x: str, y: str) -> dict[str, str]:
    if len(x) != len(y):
        return {"(all)": f"{len(x)} -> {len(y)}"}
    told = names if len(names) == len(x) else [str(index) for index in range(len(x))]
    pairs = zip(told, x, y, strict=True)
    return {name or "(the module itself)": f"{a == '1'} -> {b == '1'}" for name, a, b in pairs if a != b}
