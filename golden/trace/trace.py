"""The trace of one run: a folder on disk, a value in memory."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from esper_harness.report.plain import listed
from golden.trace.errors import UnusableInput
from golden.trace.events import Event, Written, moments
from golden.trace.kinds import KINDS, RANDOM_STATE
from golden.trace.living import Look, Looks
from golden.trace.outputs import FILE as OUTPUTS
from golden.trace.outputs import Output
from golden.trace.tensors import Tensors, read_tensors
from golden.trace.tolerance import Tolerance

FORMAT = 7
# By title and name of a field, its text.
Kinds = Mapping[str, Mapping[str, str]]
Place = Literal["event field", "attribute", "extra state", "file name", "field", "tag", "line"]
# The canary says more than the name of a CPU: equal canaries mean equal kernels.
_SAID_BY_CANARY = ("cpu", "system", "python")


DIFFERS = "<differs>"
_SHOWN = 60


class Unstable(BaseModel, extra="forbid", frozen=True):
    """One place that is not compared.

    ``where`` is the type of an event, the class of a module, or an output; ``name`` is the path of a field or
    attribute, a tag, or the pattern of a line or of a part of a file's name.
    """

    kind: Place
    where: str
    name: str


# How a phrase of what is masked begins if that is compared where it is the same in two runs.
IDS = "paths and ids in "


class About(BaseModel, extra="forbid", frozen=True):
    """The head of a trace: what was run, and where."""

    format: int
    run: str
    label: str
    argv: list[str]
    seed: int
    fingerprint: dict[str, str]
    counts: dict[str, int]
    processes: list[str]
    seconds: float
    tolerances: list[Tolerance] = []
    event_files: dict[str, int] = {}
    without: list[str] = []
    # Patterns of unstable fields that matched none of events and outputs.
    unmatched: list[str] = []
    # What differs between two runs of the tree.
    unstable: list[Unstable] = []
    # Files that it wrote outside of {out} and that its run file does not name, with what to do about it.
    unwatched: list[str] = []
    # What of its output was masked as a time or a rate, or left out by its run file.
    masked: list[str] = []
    # Whether two runs of the tree have the same ids and temporary paths, but for what is unstable.
    same_ids: bool = False
    # Patterns of files that matched none which it wrote, with what is there instead.
    no_files: dict[str, str] = {}
    # A digest of the tree that it ran in.
    tree: str = ""

    @property
    def ids(self) -> list[str]:
        """Where its output has ids and temporary paths, in words."""
        return [each for each in self.masked if each.startswith(IDS)]


@dataclass(frozen=True, slots=True)
class Layout:
    """The tensors of one optimizer."""

    optimizer: int
    optimizer_class: str
    env: int | None
    roots: tuple[str, ...]
    tensors: Tensors


@dataclass(frozen=True, slots=True)
class Site:
    """A place of the program that reads a tensor to the host: ``read`` names the method."""

    file: str
    line: int
    function: str
    read: str

    @property
    def title(self) -> str:
        """The name that people call it."""
        return f"{self.file}:{self.line} {self.function} {self.read}" if self.line else self.place

    @property
    def place(self) -> str:
        """The title without the line, which moves with every edit above it."""
        return f"{self.file} {self.function} {self.read}"


@dataclass(frozen=True, slots=True)
class Call:
    """A collective call: the function with the form of its tensors, and digests.

    ``gives`` is of what it sent, ``gets`` of what it received; empty for nothing, for tensors of another
    device than the CPU, and where it did not wait. ``point`` counts the backward passes of the step before.
    """

    text: str
    point: int
    gives: str
    gets: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """The observations since the step before: before a step, or after the last one of a process.

    ``kinds`` are fields by title of whatever is looked at at every step. ``reads`` counts host reads by site,
    ``values`` says what they gave: a few numbers as they are, more as a digest; None where nobody looked.
    ``calls`` are those of other processes.
    """

    kinds: Kinds
    reads: Mapping[Site, int] | None
    values: Mapping[Site, str] | None = None
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Between):
    """One optimizer step. ``digests`` holds, by kind, 32 hex digits per tensor of the layout.

    ``written`` counts the lines of event files at its backward passes and at itself, None where they weren't
    looked at.
    """

    number: int
    layout: Layout
    digests: Mapping[str, str]
    losses: tuple[str, ...]
    settings: Mapping[str, str]
    written: Written | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(Between):
    """The record of one process: its steps, and what was observed after the last one.

    ``finals`` are the safetensors files of the final state, by optimizer, or digests of them. ``looks`` are
    empty where nothing looked at what lives. ``loader_processes`` of a loader read for it, uncounted;
    ``unstable_seen`` are the patterns that left out extra state; ``unlooked`` names the error that ended the
    looks, ``unread`` tensors and objects that can't be read. ``held``
    are the settings of its optimizers, by number, of its scalers and of itself at its end; None where nothing
    looked at them.
    """

    name: str
    folder: Path
    steps: tuple[Step, ...]
    left_out: tuple[int, ...]
    finals: Mapping[int, Path | str]
    looks: tuple[Look, ...] = ()
    loader_processes: int = 0
    unstable_seen: tuple[str, ...] = ()
    unlooked: str = ""
    unread: tuple[str, ...] = ()
    held: Mapping[str, Any] | None = None

    def close_look(self, what: Literal["dense", "lines", "operations"], step: int) -> Path | None:
        """Return the file with the tensors of one step, or the log before it; None if it was not kept."""
        suffix = "safetensors" if what == "dense" else "jsonl"
        path = self.folder / what / f"step-{step:06d}.{suffix}"
        return path if path.exists() else None


@dataclass(frozen=True, slots=True)
class Trace:
    """The record of one run."""

    folder: Path
    about: About
    events: tuple[Event, ...]
    processes: tuple[Process, ...]
    outputs: tuple[Output, ...] = ()

    @property
    def title(self) -> str:
        """The name that people call it."""
        return self.about.label or str(self.folder)


def write_about(folder: Path, about: About) -> None:
    """Write the head of a trace."""
    (folder / "trace.json").write_text(about.model_dump_json(indent=1) + "\n", encoding="utf-8")


Record = dict[str, Any]


class Records(BaseModel, extra="forbid", frozen=True):
    """The records from which a trace is read: one for each event and output, and those of each process."""

    events: list[Record]
    outputs: list[Record]
    processes: dict[str, list[Record]]


def load_trace(folder: Path) -> Trace:
    """Read a trace; `UnusableInput` if the folder isn't one, is damaged or of another version."""
    head = folder / "trace.json"
    if not head.is_file():
        raise UnusableInput(f"{folder} is not a trace (it has no trace.json)")
    try:
        table = json.loads(head.read_text(encoding="utf-8"))
        if table.get("format") != FORMAT:
            raise UnusableInput(
                f"trace {folder} has format {table.get('format')}, not {FORMAT}: record it again"
            )
        about = About.model_validate(table)
        there = sorted(path.name for path in folder.glob("rank-*"))
        if there != sorted(about.processes):
            raise ValueError(
                f"it says that it has {', '.join(about.processes) or 'no process'}, and has "
                f"{', '.join(there) or 'none'}"
            )
        records = Records(
            events=_lines(folder / "events.jsonl"),
            outputs=_lines(folder / OUTPUTS),
            processes={
                name: _lines(path) if (path := folder / name / "steps.jsonl").exists() else []
                for name in about.processes
            },
        )
        return trace_of(about, records, folder)
    except PermissionError as error:
        raise UnusableInput(f"trace {folder}: {error.filename} can't be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, IndexError, OSError, ValidationError) as error:
        raise UnusableInput(f"trace {folder} is damaged: {str(error).splitlines()[0]}") from None


def _lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def trace_of(about: About, records: Records, folder: Path) -> Trace:
    """Return the trace of records. Raises `ValueError`, `LookupError` or `TypeError` for what is none."""
    processes = [_process(folder / name, lines) for name, lines in records.processes.items()]
    steps = [(step.number, step.written) for step in processes[0].steps] if processes else []
    found = moments(about.event_files, len(records.events), steps)
    events = [
        Event(r["kind"], r["env"], r["payload"], moment or (tuple(r["at"]) if "at" in r else None))
        for r, moment in zip(records.events, found, strict=True)
    ]
    outputs = (Output(r["kind"], r["name"], tuple(r["rows"]), r["unread"]) for r in records.outputs)
    return Trace(folder, about, tuple(events), tuple(processes), tuple(outputs))


def _process(folder: Path, lines: Sequence[Record]) -> Process:
    layouts: dict[int, Layout] = {}
    settings: dict[int, dict[str, str]] = {}
    steps: list[Step] = []
    sites: dict[int, Site] = {}
    texts: dict[int, str] = {}
    end: dict[str, Any] = {}
    looks = Looks()
    for record in lines:
        if looks.read(record):
            continue
        if "step" in record:
            layout = layouts[record["layout"]]
            current = settings.setdefault(layout.optimizer, {})
            if record.get("settings"):
                current = settings[layout.optimizer] = {**current, **record["settings"]}
            steps.append(
                Step(
                    number=record["step"],
                    layout=layout,
                    digests={kind: record[kind] for kind in KINDS},
                    losses=tuple(record.get("losses", ())),
                    settings=current,
                    written=record.get("written"),
                    **_between(record, sites, texts),
                )
            )
        elif "call" in record:
            texts[record["call"]] = record["text"]
        elif "site" in record:
            sites[record["site"]] = Site(record["file"], record["line"], record["function"], record["read"])
        elif "layout" in record:
            layouts[record["layout"]] = _layout(record)
        else:
            end = record
    if lines and not end:
        raise ValueError("steps.jsonl has no end")
    if end and end["end"] != len(steps):
        raise ValueError(f"steps.jsonl says {end['end']} steps, and has {len(steps)}")
    return Process(
        name=folder.name,
        folder=folder,
        steps=tuple(steps),
        left_out=tuple(end.get("left_out", ())),
        looks=tuple(looks.found),
        loader_processes=end.get("loader_processes", 0),
        unstable_seen=tuple(looks.unstable_seen),
        unlooked=end.get("unlooked", ""),
        unread=tuple(end.get("unread", ())),
        held=end.get("held"),
        finals={int(optimizer): digest for optimizer, digest in end["finals"].items()}
        if "finals" in end
        else {int(p.stem.rpartition("-")[2]): p for p in sorted(folder.glob("final/*.safetensors"))},
        **_between(end or {"reads": None, "values": None}, sites, texts),
    )


def _between(record: Record, sites: Mapping[int, Site], texts: Mapping[int, str]) -> dict[str, Any]:
    random = {RANDOM_STATE: record["rng"]} if record.get("rng") else {}
    reads, values = record.get("reads", ()), record.get("values", ())
    return {
        "kinds": {**random, **record.get("kinds", {})},
        "reads": None if reads is None else {sites[number]: count for number, count in reads},
        "values": None if values is None else {sites[number]: text for number, text in values},
        "calls": tuple(Call(texts[number], *row) for number, *row in record.get("calls", ())),
    }


def _layout(record: Record) -> Layout:
    return Layout(
        optimizer=record["optimizer"],
        optimizer_class=record["class"],
        env=record["env"],
        roots=tuple(record["roots"]),
        tensors=read_tensors(record),
    )


def titles(unstable: Iterable[Unstable]) -> tuple[str, ...]:
    """Return the places in words, those of one name together."""
    places: dict[tuple[Place, str], list[str]] = defaultdict(list)
    for each in unstable:
        places[each.kind, each.name].append(each.where)
    found = []
    for (kind, name), where in places.items():
        named = [place for place in where if place]
        found.append(f"{kind} {_near(name)}" + (f" of {listed(named, 3)}" if named else ""))
    return tuple(found)


def _near(name: str) -> str:
    """Return a pattern with no more than some words before its first mark and after its last."""
    start, end = name.find(DIFFERS), name.rfind(DIFFERS) + len(DIFFERS)
    if start < 0:
        return name
    before, after = name[:start], name[end:]
    before = before if len(before) <= _SHOWN else f"... {before[-_SHOWN:]}"
    return before + name[start:end] + (after if len(after) <= _SHOWN else f"{after[:_SHOWN]} ...")


def deciding(found: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a fingerprint that decide whether bits are comparable."""
    without = _SAID_BY_CANARY if "canary" in found else ()
    return {n: value for n, value in found.items() if n not in without}


def gap(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    """Name the parts in which two fingerprints differ; empty where bits differ only because of the code."""
    a, b = deciding(left), deciding(right)
    if "canary" in a and "canary" in b:
        # Builds of one version with equal canaries run the same kernels.
        a, b = ({**side, "torch": side.get("torch", "").partition("+")[0]} for side in (a, b))
    parts = [n for n in dict.fromkeys([*a, *b]) if a.get(n) != b.get(n)]
    return "; ".join(
        "other kernels" if name == "canary" else f"{name}: {a.get(name)} and {b.get(name)}" for name in parts
    )
