"""Record one run: run it once in a fresh process and gather its trace."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esper_harness.report.plain import listed
from golden.reach.lines import asked
from golden.reach.lines import gather as gather_reached
from golden.record.devices import locked_device, visible_devices
from golden.record.exit_notes import FOLDER as ENDED
from golden.record.outputs import Produced
from golden.record.process import command_line, environment, execute
from golden.record.run import Run
from golden.record.workspace import Tree, not_copied, own_tree
from golden.record.writes import FOLDER as WRITES
from golden.record.writes import written
from golden.trace.errors import NothingComparable, RunFailed, UnusableInput
from golden.trace.events import Event, read_events
from golden.trace.outputs import write_outputs
from golden.trace.paths import Patterns, matching
from golden.trace.trace import FORMAT, About, Trace, load_trace, write_about

# With less room than this a record can't be closed, in bytes.
_ROOM = 1 << 16


@dataclass(frozen=True, slots=True)
class Closely:
    """What is kept of some steps besides what is kept of all.

    ``dense`` are optimizer steps whose tensors are kept in full, ``looks`` those after which modules are
    looked at in any case, ``operations`` is one step before which every operation is logged.
    """

    dense: range = range(0)
    looks: range = range(0)
    operations: int | None = None

    def told(self) -> dict[str, Any]:
        """Return it as the observer is told."""
        steps = {"dense": self.dense, "looks": self.looks}
        ranges = {name: [each.start, each.stop, each.step] for name, each in steps.items()}
        return {**ranges, "operations": self.operations}


PLAINLY = Closely()


def record_run(
    run: Run,
    *,
    root: Path,
    out: Path,
    data: Path | None = None,
    closely: Closely = PLAINLY,
    label: str = "",
    reach: Sequence[str] = (),
    beside: Path | None = None,
) -> Trace:
    """Run once in the tree ``root`` and write the trace to the folder ``out``, which must not exist yet.

    ``closely`` says at which steps more is kept, ``reach`` names files below ``root`` whose lines that ran
    are kept; ``beside`` is the working tree of which ``root`` is another version.
    The folder appears complete or not at all. Raises `UnusableInput`, `RunFailed`, `NothingComparable`.
    """
    # The program runs in ``root``, where a relative path would be another folder.
    root, out = root.resolve(), out.resolve()
    if not root.is_dir():
        raise UnusableInput(f"no folder {root}")
    _, _, index = run.device.partition(":")
    if run.device.startswith("cuda") and (there := _gpus()) <= int(index or 0):
        raise NothingComparable(f"run {run.name} needs the CUDA device {run.device}; there are {there} here")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UnusableInput(f"{out} exists already; name another folder or remove it")
    with _partial(out) as folder, own_tree(run, root, beside) as place:
        observe = {**closely.told(), "reach": asked(reach, place, folder)}
        try:
            about = _record(run, root=place, folder=folder, data=data, closely=observe, label=label)
        except RunFailed as error:
            raise RunFailed(f"{error}{not_copied(run, root, str(error))}") from None
        gather_reached(reach, folder)
        write_about(folder, about)
        if out.exists():
            out.rmdir()
        folder.rename(out)
    return load_trace(out)


def _gpus() -> int:
    import torch  # which takes seconds to load, and runs on the CPU don't ask for it

    return torch.cuda.device_count()


@contextlib.contextmanager
def _partial(out: Path) -> Iterator[Path]:
    made = not out.parent.exists()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise UnusableInput(f"can't write to {out.parent}: {error.strerror}") from None
    try:
        yield folder
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise UnusableInput(f"{out} was made by another command meanwhile; name another folder") from None
        raise UnusableInput(f"can't write to {out}: {error.strerror}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if made:
            with contextlib.suppress(OSError):
                out.parent.rmdir()


def _record(
    run: Run,
    *,
    root: Path,
    folder: Path,
    data: Path | None,
    closely: dict[str, Any],
    label: str,
) -> About:
    with tempfile.TemporaryDirectory(prefix="golden-out-") as scratch:
        outputs = Path(scratch)
        argv = command_line(run, root=root, out=outputs, data=data)
        observe = {**_to_observe(run, folder, outputs), **closely}
        variables = environment(run, root=root, observe=observe)
        devices = visible_devices(_gpus()) if run.device.startswith("cuda") else []
        _run_before(run, root=root, folder=folder, outputs=outputs, data=data)
        produced, tree = Produced(run, root, outputs), Tree(root)
        with locked_device(run.device, devices) as placed:
            begun = time.monotonic()
            execute(run, argv, root=root, variables=variables | placed, folder=folder)
            seconds = time.monotonic() - begun
        produced.wrote, produced.anew, produced.removed = written(folder)
        digest = tree.check(run.name, produced.wrote | produced.removed)
        for noted in (WRITES, ENDED):
            shutil.rmtree(folder / noted, ignore_errors=True)
        no_files, beside = produced.unmatched(), produced.unwatched()
        _check_all_seen(run, folder)
        processes = _processes(folder)
        unstable = Patterns(_unstable(run))
        events, event_files = _events(run, outputs, unstable)
        copied = functools.partial(tree.copied, written=produced.wrote)
        found, masked = produced.read(folder, unstable, ordered=len(processes) <= 1, copied=copied)
        without = [*(f"values of {name}" for name in run.observe.unstable_values), *produced.lost()]
    write_outputs(folder, found)
    steps = any((folder / process / "steps.jsonl").exists() for process in processes)
    rows = bool(events) or any(output.rows for output in found)
    _check_comparable(run, steps=steps, rows=rows, observed=any(folder.glob("process-*")))
    _write_events(folder, events)
    return About(
        format=FORMAT,
        run=run.name,
        label=label,
        argv=[_readable(part, outputs, root) for part in argv],
        seed=run.seed,
        fingerprint=_fingerprint(folder / processes[0]) if processes else {},
        counts=dict(sorted(Counter(event.kind for event in events).items())),
        processes=processes,
        seconds=seconds,
        tolerances=list(run.tolerance),
        event_files=event_files,
        without=without,
        unmatched=[pattern for pattern in _unstable(run) if pattern not in unstable.seen],
        unwatched=beside,
        masked=masked,
        no_files=no_files,
        tree=digest,
    )


def _to_observe(run: Run, folder: Path, outputs: Path) -> dict[str, Any]:
    """Return the settings of the observer of a run."""
    env = run.env
    return {
        **settings(run, folder),
        "observe": True,
        "env": env.model_dump(include={"module", "count", "skip"}) if env and env.module else None,
        "events": {"folder": str(outputs.resolve()), "files": run.events.files} if run.events else None,
        "unstable_values": list(run.observe.unstable_values),
        "digests": run.observe.digests,
        "outputs": str(outputs.resolve()),
        "unstable": _unstable(run),
    }


def _check_comparable(run: Run, *, steps: bool, rows: bool, observed: bool) -> None:
    """Raise `NothingComparable` for a record without steps, or with nothing where none are asked for.

    ``rows`` says whether there are events or rows of output, ``observed`` whether anything of a process was
    recorded.
    """
    if run.observe.steps and not steps:
        raise NothingComparable(
            f"run {run.name}: no optimizer step was seen, and no backward pass; if it has none, say "
            "`steps = false` in [observe]"
            + ("" if observed else "; if the command sets PYTHONPATH, set that before golden instead")
        )
    if not run.observe.steps and not rows:
        raise NothingComparable(
            f"run {run.name}: neither events nor optimizer steps nor output, so nothing can be compared"
        )


def _unstable(run: Run) -> list[str]:
    """Return the patterns of all fields that can't repeat."""
    return [*run.outputs.unstable, *(run.events.unstable if run.events else ())]


def _run_before(run: Run, *, root: Path, folder: Path, outputs: Path, data: Path | None) -> None:
    """Run what is to run first, in the same {out}, under the same settings, without observing it."""
    if run.first is None:
        return
    _run_before(run.first, root=root, folder=folder, outputs=outputs, data=data)
    place = folder / "before"
    place.mkdir()
    argv = command_line(run.first, root=root, out=outputs, data=data)
    variables = environment(run.first, root=root, observe={**settings(run.first, place), "observe": False})
    execute(run.first, argv, root=root, variables=variables, folder=place, observed=False)
    shutil.rmtree(place)


def _fingerprint(process: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((process / "process.json").read_text())["fingerprint"]
    steps = process / "steps.jsonl"
    end = json.loads(steps.read_text().splitlines()[-1]) if steps.exists() else {}
    return found | {key: text for key, text in end.items() if key == "canary"}


def settings(run: Run, out: Path) -> dict[str, Any]:
    """Return the settings that a process needs before it observes anything."""
    return {
        "out": str(out),
        "seed": run.seed,
        "device": run.device,
        "profile": run.profile,
        "deterministic": run.deterministic,
        "max_steps": run.max_steps,
    }


def _readable(part: str, outputs: Path, root: Path) -> str:
    return part.replace(str(outputs), "{out}").replace(str(root), "{root}")


def _events(run: Run, outputs: Path, unstable: Patterns) -> tuple[list[Event], dict[str, int]]:
    """Return all events in order, and the first one of each file."""
    if run.events is None:
        return [], {}
    files = sorted(set(matching(outputs, run.events.files)))
    events: list[Event] = []
    starts = {}
    own = Patterns(run.events.unstable)
    for path in files:
        starts[str(path.relative_to(outputs))] = len(events)
        events += read_events(
            path,
            type_field=run.events.type,
            env_field=run.env.field if run.env else None,
            unstable=own,
        )
    unstable.seen |= own.seen
    if not events:
        what = f"wrote no file that matches {run.events.files}" if not files else "wrote no event"
        raise NothingComparable(
            f"run {run.name}: {what} in {{out}}, so no events can be compared; "
            "fix [events], or pass {out} to the program"
        )
    return events, starts


def _write_events(folder: Path, events: list[Event]) -> None:
    with (folder / "events.jsonl").open("w", encoding="utf-8") as file:
        for event in events:
            file.write(json.dumps({"kind": event.kind, "env": event.env, "payload": event.payload}) + "\n")


def _check_all_seen(run: Run, folder: Path) -> None:
    """Raise `NothingComparable` where ranks took part that were started without what has them observed."""
    abouts = [json.loads(path.read_text()) for path in folder.glob("process-*/process.json")]
    joined = [about for about in abouts if about["ranks"]]
    total = max((about["ranks"] for about in joined), default=0)
    unseen = sorted(set(range(total)) - {int(about["rank"]) for about in joined})
    if unseen:
        raise NothingComparable(
            f"run {run.name}: of {total} ranks {len(unseen)} left no record ({listed(unseen, 8)}); hand the "
            "environment of the command on to every machine, and choose -o and TMPDIR where all of them see "
            "them"
        )


def _processes(folder: Path) -> list[str]:
    """Give the folders of processes that took steps names that don't depend on chance: rank-0, rank-1 ...

    By their ranks, where each has one of its own; else in the order of their ranks and starts.
    """
    found = []
    for path in folder.glob("process-*"):
        about = json.loads((path / "process.json").read_text())
        steps = path / "steps.jsonl"
        took_steps = steps.exists() and '{"step":' in steps.read_text()
        rank = about["rank"]
        by_rank = int(rank) if rank is not None else 0
        found.append((not took_steps, by_rank, about["started"], path, rank is not None))
    found.sort()
    kept = [item for item in found if not item[0]] or found[:1]
    names = []
    own = all(item[-1] for item in kept) and len({item[1] for item in kept}) == len(kept)
    for place, (idle, rank, _, path, _) in enumerate(kept):
        number = rank if own and not idle else place
        if idle:
            (path / "steps.jsonl").unlink(missing_ok=True)
        elif not _ended(path):
            full = shutil.disk_usage(folder).free < _ROOM
            why = f"no space is left on the disk of {folder.parent}" if full else "was it killed?"
            raise RunFailed(f"a process of the run ended without closing its record (rank {number}); {why}")
        path.rename(folder / f"rank-{number}")
        names.append(f"rank-{number}")
    for _, _, _, path, _ in found:
        shutil.rmtree(path, ignore_errors=True)
    return names


def _ended(path: Path) -> bool:
    lines = (path / "steps.jsonl").read_text().splitlines()
    return bool(lines) and lines[-1].startswith('{"end":')
