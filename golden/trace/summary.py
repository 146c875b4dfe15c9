"""What of a trace a golden keeps: small, plain text, one row per event and per step."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import xxhash
from pydantic import BaseModel, ConfigDict

from golden.trace.calls import CallRows, keep_calls
from golden.trace.events import Event
from golden.trace.held import attributes, settings
from golden.trace.kinds import END, HOST
from golden.trace.outputs import READING, Output, leaves, nesting
from golden.trace.reads import totals
from golden.trace.streams import streams
from golden.trace.tolerance import MASK, find, masked
from golden.trace.trace import KINDS, Site, Step, Trace

# Rows beyond this many are folded together, so that the golden of a long run stays small.
ROWS_AT_MOST = 600
# Short digests only say where a difference is; that there is none is said by one over everything.
_SHORT = 8
_MADE = re.compile(r"[0-9a-f]{8}@([0-9a-z+:]+)$")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OutputRows(_Table):
    """A stream or file: a row per line or field, its place, where it has one, and a short digest.

    ``nesting`` is a short digest of how the fields of a tree lie in each other.
    """

    kind: str
    rows: list[str]
    nesting: str | None = None


class Summary(_Table):
    """The bits of one run on one kind of machine.

    A row of ``steps``: index of the stream, losses, then short digests of layout, buffers, gradients,
    settings, parameters, optimizer state and random states, each behind its letter, and the number of host
    reads; ``@`` and how follow a short digest of digests that were not all made on the host. A row of
    ``events``: type, env and a short digest of the payload. ``reads`` only names the places of host reads.
    Numbers that have a tolerance are in none of the rows, but in ``tolerated``: their kind, the place of
    their event or step, the field or model, and the number itself, exactly.
    """

    streams: list[tuple[str, int | None, str]]
    events: list[str]
    steps: list[str]
    final: list[str]
    reads: dict[str, int]
    tolerated: list[str] = []
    whole: str
    # None in a golden of a time when they weren't looked at.
    outputs: dict[str, OutputRows] | None = None
    # The rules by which they were masked and read.
    reading: int = 1
    # A row per step: what the host has read since the one before it; then what it read after the last one.
    values: list[str] | None = None
    # A row per look and module, or kind of own generator: the look, what, a short digest. None as above.
    living: list[str] | None = None
    # What was held at the end, by name: a short digest. None as above.
    held: dict[str, str] | None = None
    # By process. None where none called another one, too.
    calls: dict[str, CallRows] | None = None


class Common(_Table):
    """What holds on every machine: numbers and order of events by type, shapes of models."""

    counts: dict[str, int]
    events: list[str]
    steps: dict[str, int]
    shapes: dict[str, str]


def summarise(trace: Trace) -> Summary:
    """The rows of a trace, and one digest over all of it."""
    found: list[tuple[str, int | None, str]] = []
    steps: list[str] = []
    final: list[str] = []
    reads: Counter[str] = Counter()
    whole = xxhash.xxh3_128()
    trace, tolerated = _without_tolerated(trace)
    for event in trace.events:
        whole.update(f"{_key(event)}\0{event.line}\n".encode())
    for process in trace.processes:
        of_optimizer = streams(process)
        places = {n: (s.process, s.env, s.model) for n, s in of_optimizer.items()}
        found += [place for place in dict.fromkeys(places.values()) if place not in found]
        for step in process.steps:
            steps.append(_step_row(step, found.index(places[step.layout.optimizer])))
            whole.update(_everything(step).encode())
        for optimizer, path in process.final_files.items():
            content = xxhash.xxh3_128_hexdigest(path.read_bytes())
            title = of_optimizer[optimizer].title if optimizer in of_optimizer else "unknown"
            final.append(f"{title} | {content[:16]}")
            whole.update(content.encode())
        for site, count in totals(process).items():
            reads[site.place] += count
        final.append(f"host reads after the last step of {process.name} | {_number(process.reads)}")
        whole.update(_number(process.reads).encode())
        final.append(f"random states of {process.name} | {_short(dict(process.rng))}")
        whole.update(json.dumps(dict(process.rng), sort_keys=True).encode())
    events = [f"{_key(event)} {_digest(event.line)}" for event in trace.events]
    return Summary(
        streams=found,
        events=fold(events),
        steps=fold(steps, _all_made),
        final=fold(final),
        reads=dict(sorted(reads.items())),
        tolerated=tolerated,
        whole=whole.hexdigest(),
        values=_values(trace),
        living=_living(trace),
        held=_held(trace),
        calls=keep_calls(trace.processes),
        reading=READING,
        outputs={output.title: _output_rows(output) for output in trace.outputs},
    )


def _values(trace: Trace) -> list[str] | None:
    found = []
    for process in trace.processes:
        for values in (*(step.values for step in process.steps), process.values):
            if values is None:
                return None
            # Not by place: a read that moved is the same read.
            found.append(_short(sorted(values.values())) if values else "-")
    return fold(found)


def _held(trace: Trace) -> dict[str, str] | None:
    if all(process.held is None for process in trace.processes):
        return None
    found: dict[str, str] = {}
    for process in trace.processes:
        found |= {title: _short(dict(known)) for title, known in settings(process).items()}
        found |= {title: _short(known) for title, known in attributes(process).items()}
    rows = list(found.items())
    if len(rows) > ROWS_AT_MOST:
        rows[ROWS_AT_MOST - 1 :] = [("all else at the end, together", _short(rows[ROWS_AT_MOST - 1 :]))]
    return dict(rows)


def _living(trace: Trace) -> list[str] | None:
    if not any(process.looks for process in trace.processes):
        return None
    rows = []
    # A form is that of many looks: it is put in words once.
    forms: dict[int, str] = {}
    for process in trace.processes:
        of = "" if process.name == "rank-0" else f" of {process.name}"
        for look in process.looks:
            groups: dict[str, list[Any]] = {}
            made: dict[str, list[str]] = {}
            for module in look.modules:
                form, *rest = module.content
                if id(module.form) not in forms:
                    forms[id(module.form)] = _short(form)
                groups.setdefault(module.group, []).append([forms[id(module.form)], *rest])
                made.setdefault(module.group, []).extend(chain(*module.form.made.values()))
            for generator in look.generators or ():
                groups.setdefault(f"{generator.kind} generators", []).append(generator.state)
            rows += [
                f"{look.name}{of} | {len(g)} {name} | {_short(g)}{_made(made.get(name, ()))}"
                for name, g in groups.items()
            ]
    return _thinned(rows)


def _thinned(rows: list[str]) -> list[str]:
    """At most `ROWS_AT_MOST` rows, not folded: only looks that both sides took are compared."""
    last = [row for row in rows if row.startswith(END)][:ROWS_AT_MOST]
    rest = [row for row in rows if not row.startswith(END)]
    room = max(1, ROWS_AT_MOST - len(last))
    return [*rest[:: max(1, -(-len(rest) // room))], *last]


def _output_rows(output: Output) -> OutputRows:
    nested = None
    if output.is_tree and len(output.rows) == 1:
        nested = _short(nesting(output.rows[0]))
        rows = [f"{path} {_short(value)}" for path, value in leaves(output.rows[0])]
    elif output.kind == "tensorboard":
        rows = [f"{row.get('tag')}, step {row.get('step')} {_short(row)}" for row in output.rows]
    else:
        rows = [_short(row) for row in output.rows]
    return OutputRows(kind="unread" if output.unread else output.kind, rows=fold(rows), nesting=nested)


def _without_tolerated(trace: Trace) -> tuple[Trace, list[str]]:
    """A trace with the numbers masked that have a tolerance, and these numbers."""
    found: list[str] = []
    given = trace.about.tolerances
    if not given:
        return trace, found
    events = []
    for number, event in enumerate(trace.events):
        payload, values = masked(event.payload, given)
        found += [f"events {number} {path} {value.hex()}" for path, value in values.items()]
        events.append(replace(event, payload=payload))
    processes = []
    number = 0
    for process in trace.processes:
        of_optimizer = streams(process)
        steps = []
        for step in process.steps:
            model = of_optimizer[step.layout.optimizer].model
            if find(given, "loss", model) is not None:
                found += [f"loss {number} {model} {loss}" for loss in step.losses]
                steps.append(replace(step, losses=(MASK,) * len(step.losses)))
            else:
                steps.append(step)
            number += 1
        processes.append(replace(process, steps=tuple(steps)))
    return replace(trace, events=tuple(events), processes=tuple(processes)), found


def summarise_common(trace: Trace, *, events: bool = True) -> Common:
    """What must hold on every machine.

    Without ``events``, only shapes count: what happens may follow from rounding.
    """
    steps: Counter[str] = Counter()
    shapes: dict[str, str] = {}
    for process in trace.processes:
        of_optimizer = streams(process)
        for step in process.steps:
            title = of_optimizer[step.layout.optimizer].title
            steps[title] += 1
            params = step.layout.tensors["params"]
            shapes[title] = f"{len(params)} parameters of {sum(i.elements for i in params)} elements"
    rows = [_key(event) for event in trace.events] if events else []
    counts = trace.about.counts if events else {}
    return Common(counts=counts, events=fold(rows), steps=dict(steps) if events else {}, shapes=shapes)


def _key(event: Event) -> str:
    return event.kind if event.env is None else f"{event.kind} env={event.env}"


def _step_row(step: Step, stream: int) -> str:
    layout = {kind: [i.name for i in step.layout.tensors[kind]] for kind in KINDS}
    kinds = {
        kind: _short(step.digests[kind]) + _made([i.digest for i in step.layout.tensors[kind]])
        for kind in KINDS
    }
    return " ".join(
        [
            str(stream),
            ",".join(step.losses) or "-",
            f"l{_short(layout)}",
            f"b{kinds['buffers']}",
            f"g{kinds['grads']}",
            f"h{_short(dict(step.settings))}",
            f"p{kinds['params']}",
            f"s{kinds['state']}",
            f"r{_short(dict(step.rng))}",
            f"c{_number(step.reads)}",
        ]
    )


def _made(digests: Sequence[str]) -> str:
    """How some digests were made, if not all on the host: ``@sums``, or with a digest of which is how."""
    if all(how == HOST for how in digests):
        return ""
    how = "+".join(sorted(set(digests)))
    return f"@{how}" if len(set(digests)) == 1 else f"@{how}:{_short(list(digests))}"


def how_made(row: str) -> str:
    """What a short digest says of how it was made; empty for one of the host."""
    found = _MADE.search(row)
    return found[1] if found else ""


def _everything(step: Step) -> str:
    layout = [[(i.name, i.dtype, i.shape) for i in step.layout.tensors[kind]] for kind in KINDS]
    digests = [step.digests[kind] for kind in KINDS]
    rest = [step.losses, dict(step.settings), dict(step.rng), _number(step.reads)]
    return json.dumps([layout, digests, *rest], sort_keys=True)


def _number(reads: Mapping[Site, int] | None) -> str:
    return "-" if reads is None else str(sum(reads.values()))


def _short(value: Any) -> str:
    return _digest(json.dumps(value, sort_keys=True))[:_SHORT]


def _digest(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode())


def _unmarked(rows: Sequence[str]) -> str:
    return ""


def fold(rows: list[str], mark: Callable[[Sequence[str]], str] = _unmarked) -> list[str]:
    """At most `ROWS_AT_MOST` rows: neighbours are replaced by one digest where there are more.

    ``mark`` tells what stands behind the digest of some.
    """
    size = -(-len(rows) // ROWS_AT_MOST)
    if size <= 1:
        return rows
    parts = [(start, rows[start : start + size]) for start in range(0, len(rows), size)]
    return [
        f"rows {start}-{start + len(part) - 1} {_digest(' '.join(part))}{mark(part)}" for start, part in parts
    ]


def _all_made(rows: Sequence[str]) -> str:
    """How the digests of some steps were made, where not all were on the host."""
    made = [[how_made(column) for column in row.split(" ") if "@" in column] for row in rows]
    return f"@{_short(made)}" if any(made) else ""
