"""The part that runs inside the program under test: one line per optimizer step, the full state at the end.

It is loaded under a private package name (see `golden/inject/sitecustomize.py`) and draws no random number.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import os
import threading
import time
import weakref
from collections.abc import Mapping
from multiprocessing import util
from pathlib import Path
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

from ..trace.digest import Flat
from ..trace.fingerprint import canary_of, fingerprint
from ..trace.kinds import END
from ..trace.numbers import exact
from ..trace.paths import Patterns
from . import layout as layouts
from .distributed import Collectives
from .event_lines import EventLines
from .exit_notes import name_of_process, note_end
from .final_state import Held
from .handmade import Handmade
from .hooks import identity, unseen
from .living import Living
from .naming import ModuleRegistry
from .occasions import Occasions, is_due
from .plan import Plan
from .reads import ReadCounter
from .tensorfile import write_tensors

# How much of the final states is kept in full, in bytes.
_STATE_AT_MOST = 256 << 20
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Watched:
    """The state of one optimizer at the step before."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.last_step = self.layout = -1
        self.names: layouts.Names | None = None
        self.named_for: list[int] = []
        self.plan: Plan | None = None
        self.described: tuple[Any, ...] = ()
        self.written: dict[str, str] = {}
        self.buffers: list[torch.Tensor | None] = []
        self.held: tuple[Any, Any] = ((), {})


class Observer:
    """Writes the record of one process into its own folder."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        env = spec.get("env")
        self._rule = layouts.EnvRule(**env) if env else None
        self._dense, self._looks = range(*spec["dense"]), range(*spec["looks"])
        # Of each operation and line, while they are written.
        self._logs: list[Any] = []
        self._state_left = _STATE_AT_MOST
        self._registry = ModuleRegistry()
        events = spec["events"]
        self._event_lines = EventLines(Path(events["folder"]), events["files"]) if events else None
        self._reads = ReadCounter(
            self._write, memory=spec["deterministic"] != "off", unstable=spec["unstable_values"]
        )
        unstable = Patterns(spec["unstable"])
        self._living = Living(self._registry, self._write, self._reads.muted, unstable, spec["digests"])
        self._collectives = Collectives(self._write, lambda: len(self._losses), self._joined)
        self._held = Held(unstable)
        # Until the program makes an optimizer, backward passes are the clock.
        self._handmade = Handmade(self._on_step)
        self._lock = threading.RLock()
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._started = time.time()
        self._joined_as: str | None = None
        self._finished = False
        # Processes of two machines, or of two containers, may have one number.
        self._folder = Path(self._spec["out"]) / f"process-{self._pid}-{os.urandom(4).hex()}"
        self._lines: Any = None
        self._watched: weakref.WeakKeyDictionary[Optimizer, Watched] = weakref.WeakKeyDictionary()
        # By number; each holds what its optimizer held, which is final when that is gone.
        self._finals: dict[int, Watched] = {}
        self._optimizers = self._layouts = self._steps = 0
        self._losses: list[torch.Tensor] = []
        self._written: list[dict[str, int]] = []
        self._flats: dict[tuple[Any, ...], Flat] = {}
        self._left_out: list[int] = []
        self._unread: dict[str, None] = {}
        self._reads.reset()
        self._living.reset()
        self._collectives.reset()
        self._held.reset()

    def install(self) -> None:
        """Register every hook."""
        self._registry.install()
        self._reads.install()
        # A dynamo trace must not run into the hooks of an optimizer: they stay outside compiled code.
        Observer._on_step._torchdynamo_disable = True  # type: ignore[attr-defined]
        register_optimizer_step_post_hook(self._on_step)
        backward = torch.autograd.backward

        @functools.wraps(backward)
        def observed_backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._on_backward(tensors)
            return self._handmade.observed_backward(backward, tensors, *args, **kwargs)

        torch.autograd.backward = observed_backward
        self._handmade.install()
        self._occasions = Occasions(Path(self._spec["outputs"]), self._on_occasion)
        self._occasions.install()
        self._collectives.install()
        self._held.install()
        self._living.install()
        os.register_at_fork(after_in_child=self._start)
        atexit.register(self._finish)
        # A child that multiprocessing forks ends without atexit, but runs the finalizers made after the fork.
        util.register_after_fork(self, Observer._finish_forked)
        self._write_process()
        self._start_log()

    def _finish_forked(self) -> None:
        util.Finalize(self, self._finish_if_used, exitpriority=-100)

    def _finish_if_used(self) -> None:
        if self._steps:
            self._finish()

    def _write_process(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        about = {
            "name": name_of_process(),
            "rank": self._rank(),
            "ranks": self._collectives.ranks,
            "started": self._started,
            "fingerprint": fingerprint(self._spec["device"], self._spec["profile"]),
        }
        (self._folder / "process.json").write_text(json.dumps(about), encoding="utf-8")

    def _joined(self, rank: int) -> None:
        """The process has its number among others: that of the first group, whatever its launcher said."""
        if self._collectives.joined == 1:
            self._joined_as = str(rank)
            self._write_process()

    def _write(self, record: dict[str, Any], digests: Mapping[str, str] | None = None) -> None:
        if self._lines is None:
            if not self._folder.exists():
                self._write_process()
            # Not buffered: how many steps were taken is asked while the program runs.
            self._lines = io.FileIO(self._folder / "steps.jsonl", "w")
        text = _encode(record)
        if digests:
            # Hexadecimal digits need no encoding, which is slow for many.
            text = "".join([text[:-1], *[f',"{kind}":"{digits}"' for kind, digits in digests.items()], "}"])
        line = memoryview(f"{text}\n".encode())
        while line:
            line = line[self._lines.write(line) :]

    def _on_backward(self, tensors: Any) -> None:
        loss = tensors[0] if isinstance(tensors, (tuple, list)) and len(tensors) == 1 else tensors
        if not isinstance(loss, torch.Tensor):
            return
        with unseen():
            if loss.numel() == 1:
                self._losses.append(loss.clone())
                self._note_events()

    def _note_events(self) -> None:
        if self._event_lines is not None:
            self._written.append(self._event_lines.counts())

    def _take_written(self) -> dict[str, Any]:
        """Return lines of every event file, at each backward pass since the last step and now."""
        if self._event_lines is None:
            return {}
        # Events are dated by the steps of the first rank. When it counts, at its step, the others have begun
        # this backward pass, and have written what they buffered.
        first = self._number() == 0
        if first or not self._written:
            self._note_events()
        found, self._written = self._written, []
        if not first:
            return {}
        return {"written": {name: [counts.get(name, 0) for counts in found] for name in found[-1]}}

    def _on_step(self, optimizer: Any, *given: Any) -> None:
        if self._finished:
            return
        self._stop_log()
        with self._lock, unseen():
            self._step(optimizer)
            last = self._steps - 1
            if is_due(last, 2) or last in self._looks:
                self._living.look(f"step {last}", last, after=True)
        self._start_log()

    def _on_occasion(self, name: str) -> None:
        # Every operation is logged now, and there is nothing to look for any more.
        if self._finished or self._logs or os.getpid() != self._pid:
            return
        with self._lock, unseen():
            self._living.look(f"{name}, before step {self._steps}", self._steps)

    def _start_log(self) -> None:
        if self._steps == self._spec["operations"] and os.getpid() == self._pid:
            from .lines import LineLog
            from .operations import OperationLog

            name = f"step-{self._steps:06d}.jsonl"
            self._logs = [
                OperationLog(self._folder / "operations" / name),
                LineLog(self._folder / "lines" / name),
            ]
            for log in self._logs:
                log.start()

    def _stop_log(self) -> None:
        while self._logs:
            self._logs.pop().close()

    def _step(self, optimizer: Optimizer) -> None:
        watched = self._watch(optimizer)
        params = layouts.parameters(optimizer)
        state = optimizer.state
        names = watched.names
        named_for = list(map(identity, params))
        if (
            names is None
            or named_for != watched.named_for
            or names.version != self._registry.version(names.below)
        ):
            names = watched.names = layouts.name_optimizer(params, self._registry, self._rule)
            watched.named_for, watched.plan = named_for, None
        watched.buffers = names.buffer_values()
        entries = layouts.gather(params, state, watched.buffers)
        plan = watched.plan
        tensors = plan.tensors(entries) if plan is not None else None
        if plan is None or tensors is None:
            plan = watched.plan = Plan(entries, layouts.titles(params, state, names), self._spec["digests"])
            tensors = plan.dense(entries)
            self._unread |= dict.fromkeys(plan.unread)
            self._describe(optimizer, watched, plan)
        plan.begin(tensors)
        settings = layouts.settings(optimizer) | plan.extras(entries)
        record = {
            "step": self._steps,
            "optimizer": watched.number,
            "layout": watched.layout,
            "losses": self._take_losses(),
            "settings": {k: text for k, text in settings.items() if watched.written.get(k) != text},
            **self._held.step(),
            **self._reads.take(),
            **self._take_written(),
            **self._collectives.take(),
        }
        watched.written = settings
        self._write(record, plan.digests(tensors))
        if self._steps in self._dense:
            self._save(f"dense/step-{self._steps:06d}", plan.titled(tensors))
        watched.last_step = self._steps
        self._steps += 1

    def _take_losses(self) -> list[str]:
        losses, self._losses = self._losses, []
        if not losses:
            return []
        forms = tuple((loss.dtype, loss.device) for loss in losses)
        flat = self._flats.get(forms)
        if flat is None:
            flat = self._flats[forms] = Flat(losses)
        return [
            exact(bytes(raw), str(loss.dtype).removeprefix("torch."))
            for raw, loss in zip(flat.views(losses), losses, strict=True)
        ]

    def _watch(self, optimizer: Optimizer) -> Watched:
        found = self._watched.get(optimizer)
        if found is None:
            found = Watched(self._optimizers)
            self._optimizers += 1
            self._watched[optimizer] = self._finals[found.number] = found
            weakref.finalize(optimizer, self._on_death, found.number, self._pid).atexit = False
        # Loading a state replaces both.
        found.held = optimizer.param_groups, optimizer.state
        return found

    def _describe(self, optimizer: Optimizer, watched: Watched, plan: Plan) -> None:
        assert watched.names is not None
        described = (watched.names.env, watched.names.roots, plan.described)
        if described == watched.described:
            return
        watched.described = described
        watched.layout = self._layouts
        self._layouts += 1
        self._write(
            {
                "layout": watched.layout,
                "optimizer": watched.number,
                "class": type(optimizer).__name__,
                "env": watched.names.env,
                "roots": watched.names.roots,
                "tensors": plan.described,
            }
        )

    def _on_death(self, number: int, pid: int) -> None:
        watched = self._finals.pop(number, None)
        if watched is not None and pid == os.getpid():
            groups, state = watched.held
            self._final(watched, self._held.optimizer(number, groups), state)

    def _superseded(self, watched: Watched, params: list[torch.Tensor]) -> bool:
        # Parameters handed on to a later optimizer are final there, not when the first one is collected.
        mine = set(map(identity, params))
        return any(
            other.last_step > watched.last_step
            and not mine.isdisjoint(map(identity, layouts.parameters(optimizer)))
            for optimizer, other in self._watched.items()
        )

    def _final(self, watched: Watched, params: list[torch.Tensor], state: Any) -> None:
        if self._superseded(watched, params):
            return
        if watched.names is None or len(watched.names.params) != len(params):
            watched.names = layouts.name_optimizer(params, self._registry, self._rule)
            watched.buffers, watched.plan = watched.names.buffer_values(), None
        with self._lock, unseen():
            entries, plan = layouts.gather(params, state, watched.buffers), watched.plan
            tensors = plan.tensors(entries) if plan is not None else None
            if plan is None or tensors is None:
                plan = Plan(entries, layouts.titles(params, state, watched.names), "host")
                tensors = plan.dense(entries)
            titled = plan.titled(tensors)
            size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
            if size > self._state_left or not self._save(f"final/optimizer-{watched.number:04d}", titled):
                self._left_out.append(watched.number)
                return
            self._state_left -= size

    def _save(self, stem: str, tensors: dict[str, torch.Tensor]) -> bool:
        return write_tensors(self._folder / f"{stem}.safetensors", tensors)

    def _finish(self) -> None:
        if os.getpid() != self._pid or self._finished:
            return
        note_end(self._spec["out"])
        self._stop_log()
        with self._lock, unseen():
            self._living.look(END, None)
        for optimizer, watched in self._watched.items():
            watched.held = optimizer.param_groups, optimizer.state
        for number in sorted(self._finals):
            # Saving one may set off a collection in which the next one dies, and is saved.
            self._on_death(number, self._pid)
        # The canary's own optimizers and models are nobody's.
        self._finished = True
        end = {
            "end": self._steps,
            **self._held.step(last=True),
            "left_out": sorted(self._left_out),
            "loader_processes": self._occasions.loader_processes,
            "held": self._held.facts(),
            "unlooked": self._living.failed,
            "unread": [*self._unread, *self._living.unread, *self._held.unread()],
            **self._reads.take(),
            **self._collectives.take(),
            **({"canary": canary_of(self._spec)} if self._is_first() else {}),
        }
        self._write(end)
        self._lines.close()

    def _rank(self) -> str | None:
        """Return its rank in the first group that it joined, else the one that its launcher or itself set."""
        return self._joined_as if self._joined_as is not None else os.environ.get("RANK")

    def _number(self) -> int:
        """Return the rank of the process; 0 if it has none."""
        rank = self._rank()
        return int(rank) if rank and rank.isdigit() else 0

    def _is_first(self) -> bool:
        """Tell whether it is the first of the processes that took steps: its canary is that of the run."""
        if not self._steps:
            return False
        mine = self._number()
        for about in self._folder.parent.glob("process-*/process.json") if mine else ():
            with contextlib.suppress(OSError, ValueError):
                rank = json.loads(about.read_text(encoding="utf-8"))["rank"]
                if rank is not None and int(rank) < mine:
                    with (about.parent / "steps.jsonl").open(encoding="utf-8") as lines:
                        if any(line.startswith('{"step":') for line in lines):
                            return False
        return True
