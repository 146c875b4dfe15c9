"""Classes of models that only have another name in head: their steps and modules belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from golden.trace.living import Look
from golden.trace.trace import Layout, Process, Trace

# Of a golden, behind how many there are of it.
_LABEL = re.compile(r"^(\d+ )?(\w+)#")


def renamed(left: Trace, right: Trace) -> tuple[Trace, tuple[str, ...]]:
    """Return the right side with the left side's names of classes, and which these are, in words."""
    names = _names(
        [pair for a, b in zip(left.processes, right.processes, strict=False) for pair in _pairs(a, b)]
    )
    there = {name for process in right.processes for name in _classes(process)}
    kept = {name for process in left.processes for name in _classes(process)}
    names = {new: old for new, old in names.items() if new not in kept and old not in there}
    if not names:
        return right, ()
    processes = tuple(_with_names(process, names) for process in right.processes)
    return replace(right, processes=processes), tuple(
        f"the name of class {old} ({new} in head)" for new, old in names.items()
    )


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a label, or the name of a tensor that begins with one, with another name of its class."""
    return _LABEL.sub(lambda match: f"{match[1] or ''}{names.get(match[2], match[2])}#", text)


def _names(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the old name of every class that has a new one; of those that have one alone on each side."""
    found: dict[str, set[str]] = {}
    back: dict[str, set[str]] = {}
    for old, new in pairs:
        found.setdefault(new, set()).add(old)
        back.setdefault(old, set()).add(new)
    one = {new: next(iter(old)) for new, old in found.items() if len(old) == 1}
    return {new: old for new, old in one.items() if new != old and len(back[old]) == 1}


def _classes(process: Process) -> Iterator[str]:
    for step in process.steps:
        yield from (root.partition("#")[0] for root in step.layout.roots)
    for look in process.looks:
        yield from (module.group for module in look.modules)


def _pairs(left: Process, right: Process) -> Iterator[tuple[str, str]]:
    """Pair the classes of stepped models, in order of first step, where all their tensors agree."""
    a, b = (
        list({step.layout.optimizer: step.layout for step in reversed(p.steps)}.values())
        for p in (left, right)
    )
    if len(a) != len(b):
        return
    for x, y in zip(reversed(a), reversed(b), strict=True):
        same = x.env == y.env and _bare(x) == _bare(y) and len(x.roots) == len(y.roots)
        if same:
            yield from zip(*([root.partition("#")[0] for root in side.roots] for side in (x, y)), strict=True)


def _bare(layout: Layout) -> list[tuple[str, str, tuple[int, ...]]]:
    return [
        (info.name.rpartition("/")[2], info.dtype, info.shape)
        for kind in ("buffers", "params")
        for info in layout.tensors[kind]
    ]


def _with_names(process: Process, names: Mapping[str, str]) -> Process:
    layouts: dict[int, Layout] = {}

    def named(text: str) -> str:
        return with_names(text, names)

    def changed(layout: Layout) -> Layout:
        if id(layout) not in layouts:
            tensors = {
                kind: tuple(replace(info, name=named(info.name)) for info in infos)
                for kind, infos in layout.tensors.items()
            }
            layouts[id(layout)] = replace(layout, roots=tuple(map(named, layout.roots)), tensors=tensors)
        return layouts[id(layout)]

    def seen(look: Look) -> Look:
        modules = tuple(replace(module, label=named(module.label)) for module in look.modules)
        return replace(look, modules=modules, gone={named(label): name for label, name in look.gone.items()})

    steps = tuple(replace(step, layout=changed(step.layout)) for step in process.steps)
    return replace(process, steps=steps, looks=tuple(map(seen, process.looks)), classes=names)
