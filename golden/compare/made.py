"""Digests of one tensor that were made in two ways: they say nothing about each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from esper_harness.report.plain import listed, many
from golden.compare.outcome import NotComparable
from golden.trace.trace import Trace

_SHOWN = 2
_Ways = Mapping[tuple[str, str, str], set[str]]


def made_otherwise(left: Trace, right: Trace) -> NotComparable | None:
    """Return the verdict where both sides have a tensor, and a side made its digests otherwise."""
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


def _ways(trace: Trace) -> _Ways:
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
