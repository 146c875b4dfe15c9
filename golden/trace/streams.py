"""Streams: the steps that belong together; and what a process held at its end, by titles that name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from golden.trace.trace import Process, Step

_TOGETHER = "every model from step"


def title_from(step: int) -> str:
    """Title the steps of all models from one on, which a golden keeps as one."""
    return f"{_TOGETHER} {step} on"


def of_process(name: str) -> str:
    """Return a process in words, behind what is of it; nothing for the only or first one."""
    return "" if name == "rank-0" else f" of {name.replace('-', ' ')}"


@dataclass(frozen=True, slots=True)
class Stream:
    """The steps of one environment's model, or of one model of no environment."""

    process: str
    env: int | None
    model: str

    @property
    def title(self) -> str:
        """The name that people call it."""
        where = f"env {self.env}, {self.model}" if self.env is not None else self.model
        return where if self.process == "rank-0" else f"{self.process.replace('-', ' ')}, {where}"

    @property
    def together(self) -> bool:
        """True for steps that a golden keeps as one."""
        return self.model.startswith(_TOGETHER)


def streams(process: Process) -> dict[int, Stream]:
    """Return the stream of every optimizer: by environment, or by model and order of first step."""
    found: dict[int, Stream] = {}
    seen: Counter[str] = Counter()
    for step in process.steps:
        layout = step.layout
        if layout.optimizer in found:
            continue
        label = "+".join(dict.fromkeys(r.partition("#")[0] for r in layout.roots)) or layout.optimizer_class
        if layout.env is None:
            ordinal = seen[label]
            seen[label] += 1
            label = f"{label}#{ordinal}" if ordinal else label
        found[layout.optimizer] = Stream(process.name, layout.env, label)
    return found


def by_stream(process: Process) -> dict[Stream, list[Step]]:
    """Return the steps of each stream in order."""
    names = streams(process)
    found: dict[Stream, list[Step]] = {}
    for step in process.steps:
        found.setdefault(names[step.layout.optimizer], []).append(step)
    return found


def final_streams(process: Process) -> dict[tuple[Stream, int], int]:
    """Return the optimizers whose final state was kept, by stream and order within it.

    An environment has one model per round.
    """
    seen: Counter[Stream] = Counter()
    found = {}
    for optimizer, stream in streams(process).items():
        if optimizer in process.finals:
            found[stream, seen[stream]] = optimizer
        seen[stream] += 1
    return found


def settings(process: Process) -> dict[str, Mapping[str, str]]:
    """Return the settings of every optimizer that stepped, and all things of other kinds, by title."""
    if process.held is None:
        return {}
    if "titled" in process.held:
        return dict(process.held["titled"])
    found: dict[str, Mapping[str, str]] = {}
    seen: Counter[Stream] = Counter()
    for number, stream in streams(process).items():
        seen[stream] += 1
        known = process.held["optimizers"].get(str(number))
        if known is not None:
            again = f", {seen[stream]}" if seen[stream] > 1 else ""
            found[f"settings of {stream.title}{again} at the end"] = known
    of = of_process(process.name)
    return found | {
        f"{title}{of} at the end": fields for title, fields in process.held.get("kinds", {}).items()
    }


def attributes(process: Process) -> dict[str, list[tuple[str, str]]]:
    """Return attributes at the end, with their paths, by their name and the class of the outermost module."""
    found: dict[str, list[tuple[str, str]]] = {}
    modules = process.looks[-1].modules if process.looks else ()
    count = Counter(module.group for module in modules)
    of = of_process(process.name)
    for module in modules:
        number = f"{count[module.group]} " if count[module.group] > 1 else ""
        for path, text in sorted((module.attributes or {}).items()):
            name = path.rpartition(".")[2]
            title = f"attribute {name} in {number}{module.group}{of} at the end"
            found.setdefault(title, []).append((path, text))
    return found
