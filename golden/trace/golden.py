"""The golden of a trace: records of the same form, with digests in the places of values.

What is read from them is a trace, which is compared as any other one.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import xxhash

from golden.trace.events import Event
from golden.trace.kinds import END, HOST, KINDS, RANDOM_STATE, recorded
from golden.trace.living import Look, ModuleState
from golden.trace.outputs import Output, leaves, nesting
from golden.trace.streams import attributes, settings, streams, title_from
from golden.trace.tolerance import Tolerance, masked
from golden.trace.trace import Between, Process, Record, Records, Site, Step, Trace, trace_of

# So many steps, events, lines and moments are kept one by one; what follows them, as one.
KEPT = 700
_SHORT = 8
_NAMES = "names and shapes of tensors"
_T = TypeVar("_T")


def digested(trace: Trace) -> Trace:
    """Return the trace that its golden would be."""
    about = trace.about.model_copy(update={"unstable": [], "event_files": {}})
    return trace_of(about, records_of(trace), trace.folder)


def everywhere(trace: Trace, *, events: bool) -> Records:
    """Return the part of a trace that holds on every machine: shapes, and the order of events.

    Without ``events``, only shapes count: what happens may follow from rounding.
    """
    steps: Counter[str] = Counter()
    facts: dict[str, str | int] = {}
    for process in trace.processes:
        of_optimizer = streams(process)
        for step in process.steps:
            title = of_optimizer[step.layout.optimizer].title
            steps[title] += 1
            params = step.layout.tensors["params"]
            facts[f"shapes of {title}"] = (
                f"{len(params)} parameters of {sum(i.elements for i in params)} elements"
            )
    found = []
    if events:
        facts |= {f"steps of {title}": count for title, count in steps.items()}
        facts |= {f"counts of {kind}": n for kind, n in Counter(e.kind for e in trace.events).items()}
        for event in trace.events:
            told = {"type": event.kind, "env": event.env}
            found.append({"kind": event.kind, "env": event.env, "payload": told})
    output = Output("facts", "what holds everywhere", (facts,))
    table = {"events": _first(found, _rest_of_events), "outputs": [asdict(output)], "processes": {}}
    return Records.model_validate_json(json.dumps(table))


def records_of(trace: Trace) -> Records:
    """Return the records of a golden."""
    events = [_event(event, trace.about.tolerances) for event in trace.events]
    table = {
        "events": _first(events, _rest_of_events),
        "outputs": [asdict(_output(output)) for output in trace.outputs],
        "processes": {process.name: _process(process) for process in trace.processes},
    }
    # As they are read again, so that they can be compared with those of a file.
    return Records.model_validate_json(json.dumps(table))


def _first(rows: list[_T], together: Callable[[Sequence[_T]], _T]) -> list[_T]:
    """Return the first `KEPT` rows; what follows them as one."""
    return [*rows[: KEPT - 1], together(rows[KEPT - 1 :])] if len(rows) > KEPT else rows


def _event(event: Event, tolerances: Sequence[Tolerance]) -> Record:
    """Return an event by the digest of its payload, beside which are the numbers that have a tolerance."""
    payload, values = masked(event.payload, tolerances)
    digest = xxhash.xxh3_64_hexdigest(replace(event, payload=payload).line.encode())
    at = {} if event.moment is None else {"at": list(event.moment)}
    return {"kind": event.kind, "env": event.env, "payload": {"payload": digest, **values}, **at}


def _rest_of_events(events: Sequence[Record]) -> Record:
    return {"kind": f"{len(events)} events", "env": None, "payload": {"payload": _short(list(events))}}


def _output(output: Output) -> Output:
    if output.is_tree and len(output.rows) == 1:
        (tree,) = output.rows
        fields = {path: _short(value) for path, value in leaves(tree)}
        return replace(output, rows=({"(how its fields are nested)": _short(nesting(tree)), **fields},))
    rows: list[Mapping[str, Any]]
    if output.kind == "tensorboard":
        rows = [{"tag": r.get("tag"), "step": r.get("step"), "value": _short(r)} for r in output.rows]
    else:
        rows = [{"line": _short(row)} for row in output.rows]
    return replace(output, rows=tuple(_first(rows, lambda rest: {"line": _short(list(rest))})))


def _process(process: Process) -> list[Record]:
    rows = _Rows()
    steps = _first([rows.step(step) for step in process.steps], rows.rest_of_steps)
    stride = -(-len(process.looks) // KEPT) or 1
    looks = [rows.look(v) for i, v in enumerate(process.looks) if v.name == END or i % stride == 0]
    end = rows.between(process) | {
        "end": len(steps),
        "finals": {o: _file(path) for o, path in process.finals.items() if o in streams(process)},
        "held": None if process.held is None else {"titled": _held(process)},
    }
    return [*rows.named, *steps, *looks, end]


class _Rows:
    """The records of one process; ``named`` are those that others refer to by number."""

    def __init__(self) -> None:
        self.named: list[Record] = []
        self._numbers: dict[tuple[str, object], int] = {}
        self._settings: dict[int, Record] = {}
        self._forms: dict[int, str] = {}

    def _number(self, kind: str, key: object, **what: Any) -> int:
        if (kind, key) not in self._numbers:
            self._numbers[kind, key] = len(self.named)
            self.named.append({kind: len(self.named), **what})
        return self._numbers[kind, key]

    def _by_site(self, found: Mapping[Site, Any] | None, told: Callable[[Any], Any]) -> list[Any] | None:
        """List what came of each place of the program, without its line, which may move."""
        if found is None:
            return None
        rows, seen = [], Counter[str]()
        for site, each in found.items():
            seen[site.place] += 1
            again = f" ({seen[site.place]})" if seen[site.place] > 1 else ""
            where = {"file": site.file, "line": 0, "function": site.function + again, "read": site.read}
            rows.append([self._number("site", (site.place, again), **where), told(each)])
        return rows

    def between(self, of: Between) -> Record:
        """Return what came since the step before; what is empty is left out."""
        calls = [
            [self._number("call", c.text, text=c.text), c.point, c.gives[:_SHORT], c.gets[:_SHORT]]
            for c in of.calls
        ]
        found = {
            **recorded({title: _together(title, fields) for title, fields in of.kinds.items()}),
            "reads": self._by_site(of.reads, int),
            "values": self._by_site(of.values, _short),
            "calls": calls,
        }
        return {name: rows for name, rows in found.items() if rows is None or rows}

    def step(self, step: Step) -> Record:
        """Return a step; of its settings those that are others than at the step before."""
        layout, tensors = step.layout, step.layout.tensors
        made = {kind: [["", "", [], _made([info.digest for info in tensors[kind]])]] for kind in KINDS}
        names = [[(i.name.rpartition("/")[2], i.dtype, i.shape) for i in tensors[kind]] for kind in KINDS]
        now = {_NAMES: _short(names), "": _short(dict(step.settings))}
        before = self._settings.get(layout.optimizer, {})
        self._settings[layout.optimizer] = now
        changed = {name: text for name, text in now.items() if before.get(name) != text}
        return {
            "step": step.number,
            "layout": self._layout(layout.optimizer, layout.optimizer_class, layout.env, layout.roots, made),
            **{kind: _short(step.digests[kind]) for kind in KINDS},
            **({"losses": list(step.losses)} if step.losses else {}),
            **({"settings": changed} if changed else {}),
            **self.between(step),
        }

    def _layout(
        self, optimizer: int, kind: str, env: int | None, roots: Sequence[str], tensors: Record
    ) -> int:
        head = {"optimizer": optimizer, "class": kind, "env": env, "roots": list(roots)}
        return self._number("layout", (optimizer, repr(tensors)), **head, tensors=tensors)

    def rest_of_steps(self, steps: Sequence[Record]) -> Record:
        """Return all steps from one on, as one."""
        first = steps[0]["step"]
        tensors = {kind: [["", "", [], HOST]] for kind in KINDS}
        layout = self._layout(-1, "", None, [title_from(first)], tensors)
        digests = {**dict.fromkeys(KINDS, ""), "params": _short(list(steps))}
        return {"step": first, "layout": layout, **digests}

    def look(self, look: Look) -> Record:
        """Return a moment with one digest for all modules of a class, and one for generators of a kind."""
        groups: dict[str, list[ModuleState]] = defaultdict(list)
        for module in look.modules:
            groups[module.group].append(module)
        roots: dict[str, Record] = {}
        for name, group in groups.items():
            made = _made([i.digest for module in group for i in chain(*module.form.tensors.values())])
            tensors = {"params": [["", "", [], made]], "buffers": []}
            form = self._number("form", made, tensors=tensors, modules=[])
            digest = _short([self._content(module) for module in group])
            state = {"form": form, "params": digest, "training": "", "requires_grad": ""}
            roots[f"{len(group)} {name}#{len(roots)}"] = state
        states: dict[str, list[str]] = defaultdict(list)
        for generator in look.generators or ():
            states[generator.kind].append(generator.state)
        drawn = [[f"{len(found)} {kind} generators", "", _short(found)] for kind, found in states.items()]
        when = {"look": look.name, "whole": True, "number": look.number, "after": look.after, "gone": []}
        return {**when, "roots": roots, "generators": None if look.generators is None else drawn}

    def _content(self, module: ModuleState) -> list[Any]:
        _, *rest = module.content
        # A form is that of many moments: it is put in words once.
        if id(module.form) not in self._forms:
            tensors = module.form.tensors.items()
            form = [(kind, [(i.name, i.dtype, i.shape) for i in infos]) for kind, infos in tensors]
            self._forms[id(module.form)] = _short(form)
        return [self._forms[id(module.form)], *rest]


def _together(title: str, fields: Mapping[str, str]) -> dict[str, str]:
    return {"a generator" if title == RANDOM_STATE else "a field": _short(dict(fields))}


def _file(path: Path | str) -> str:
    return path if isinstance(path, str) else xxhash.xxh3_128_hexdigest(path.read_bytes())[:16]


def _held(process: Process) -> dict[str, dict[str, str]]:
    known: dict[str, object] = {title: dict(fields) for title, fields in settings(process).items()}
    return {title: {"": _short(fields)} for title, fields in (known | attributes(process)).items()}


def _made(digests: Sequence[str]) -> str:
    """Name the way in which digests were made; of several ways, with a digest of which is how."""
    ways = sorted(set(digests)) or [HOST]
    return ways[0] if len(ways) == 1 else f"{'+'.join(ways)}:{_short(list(digests))}"


def _short(value: Any) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(value, sort_keys=True).encode())[:_SHORT]
