"""State of a process at its end beside tensors: settings by title, attributes by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from golden.trace.streams import Stream, of_process, streams
from golden.trace.trace import Process


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
