"""The part that runs inside the program under test: one line per optimizer step, the full state at the end.

It is loaded under a private package name (see `inject/sitecustomize.py`) and draws no random number.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

from ..trace.digest import DIGEST_BYTES, digests, raw_bytes
from ..trace.fingerprint import fingerprint
from ..trace.numbers import exact
from . import layout as layouts
from .naming import ModuleRegistry
from .randomness import rng_digests, seed_generators


@dataclass
class Watched:
    """What is known about one optimizer."""

    number: int
    last_step: int = -1
    names: layouts.Names | None = None
    names_for: tuple[Any, ...] = ()
    layout: int = -1
    layout_key: tuple[Any, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    buffers: list[torch.Tensor | None] = field(default_factory=list)


class Observer:
    """Writes the record of one process into its own folder."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        env = spec.get("env")
        self._rule = layouts.EnvRule(env["module"], env["count"]) if env else None
        self._dense = range(*spec["dense"]) if spec.get("dense") else range(0)
        self._state_left = int(spec["state_bytes"])
        self._registry = ModuleRegistry()
        self._lock = threading.RLock()
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._folder = Path(self._spec["out"]) / f"process-{self._pid}"
        self._lines: Any = None
        self._watched: weakref.WeakKeyDictionary[Optimizer, Watched] = weakref.WeakKeyDictionary()
        self._finals: dict[int, Callable[[], None]] = {}
        self._optimizers = self._layouts = self._steps = 0
        self._losses: list[torch.Tensor] = []
        self._left_out: list[int] = []
        self._seconds = 0.0
        self._begun = time.perf_counter()

    def install(self) -> None:
        """Register every hook."""
        self._registry.install()
        register_optimizer_step_post_hook(self._on_step)
        backward = torch.autograd.backward

        def observed(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._on_backward(tensors)
            return backward(tensors, *args, **kwargs)

        torch.autograd.backward = observed
        os.register_at_fork(after_in_child=self._start)
        atexit.register(self._finish)
        self._write_process()

    def _write_process(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        about = {
            "pid": self._pid,
            "rank": os.environ.get("RANK"),
            "started": time.time(),
            "fingerprint": fingerprint(self._spec["device"], self._spec["profile"]),
        }
        (self._folder / "process.json").write_text(json.dumps(about), encoding="utf-8")

    def _write(self, record: dict[str, Any]) -> None:
        if self._lines is None:
            if not self._folder.exists():
                self._write_process()
            self._lines = (self._folder / "steps.jsonl").open("w", encoding="utf-8")
        self._lines.write(json.dumps(record, separators=(",", ":")) + "\n")
        self._lines.flush()

    def _on_backward(self, tensors: Any) -> None:
        loss = tensors[0] if isinstance(tensors, (tuple, list)) and len(tensors) == 1 else tensors
        if isinstance(loss, torch.Tensor) and loss.numel() == 1:
            with torch.no_grad():
                self._losses.append(loss.detach().reshape(1).clone())

    def _on_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        begun = time.perf_counter()
        with self._lock, torch.no_grad(), torch._C.DisableTorchFunction():
            self._step(optimizer)
        self._seconds += time.perf_counter() - begun

    def _step(self, optimizer: Optimizer) -> None:
        watched = self._watch(optimizer)
        params = layouts.parameters(optimizer)
        names_for = (self._registry.version, *map(id, params))
        if names_for != watched.names_for or watched.names is None:
            watched.names = layouts.name_optimizer(params, self._registry, self._rule)
            watched.names_for = (self._registry.version, *map(id, params))
        watched.buffers = [m._buffers.get(n) if (m := ref()) else None for ref, n, _ in watched.names.buffers]
        shot = layouts.snapshot(params, optimizer.state, watched.buffers)
        key = (watched.names.params, watched.names.buffers, shot.key)
        if key != watched.layout_key:
            self._new_layout(optimizer, watched, shot)
            watched.layout_key = key
        settings = layouts.settings(optimizer, shot.extra)
        changed = {k: v for k, v in settings.items() if watched.settings.get(k) != v}
        watched.settings = settings

        everything = [t for kind in layouts.KINDS for t in shot.tensors[kind]]
        losses, self._losses = self._losses, []
        found = digests(everything)
        start = 0
        record: dict[str, Any] = {"step": self._steps, "optimizer": watched.number, "layout": watched.layout}
        for kind in layouts.KINDS:
            end = start + len(shot.tensors[kind]) * DIGEST_BYTES
            record[kind] = found[start:end].hex()
            start = end
        record["losses"] = [
            exact(bytes(raw), str(loss.dtype).removeprefix("torch."))
            for raw, loss in zip(raw_bytes(losses), losses, strict=True)
        ]
        record["settings"] = changed
        record["rng"] = rng_digests()
        self._write(record)
        if self._steps in self._dense:
            self._save(f"dense/step-{self._steps:06d}", shot, watched.names)
        watched.last_step = self._steps
        self._steps += 1

    def _watch(self, optimizer: Optimizer) -> Watched:
        found = self._watched.get(optimizer)
        if found is None:
            found = Watched(self._optimizers)
            self._optimizers += 1
            self._watched[optimizer] = found
            groups, state = optimizer.param_groups, optimizer.state
            number = found.number

            def final(watched: Watched = found) -> None:
                params = [parameter for group in groups for parameter in group["params"]]
                self._final(watched, params, state)

            # The closure holds the tensors as long as the optimizer lives: the state it dies with is final.
            self._finals[number] = final
            weakref.finalize(optimizer, self._on_death, number, self._pid).atexit = False
        return found

    def _new_layout(self, optimizer: Optimizer, watched: Watched, shot: layouts.Snapshot) -> None:
        assert watched.names is not None
        watched.layout = self._layouts
        self._layouts += 1
        self._write(
            {
                "layout": watched.layout,
                "optimizer": watched.number,
                "class": type(optimizer).__name__,
                "env": watched.names.env,
                "roots": watched.names.roots,
                "tensors": shot.describe(watched.names),
            }
        )

    def _on_death(self, number: int, pid: int) -> None:
        if pid == os.getpid() and number in self._finals:
            self._finals.pop(number)()

    def _superseded(self, watched: Watched, params: list[torch.Tensor]) -> bool:
        # Parameters handed on to a later optimizer are final there, not when the first one is collected.
        mine = set(map(id, params))
        return any(
            other.last_step > watched.last_step
            and not mine.isdisjoint(map(id, layouts.parameters(optimizer)))
            for optimizer, other in self._watched.items()
        )

    def _final(self, watched: Watched, params: list[torch.Tensor], state: Any) -> None:
        if self._superseded(watched, params):
            return
        if watched.names is None or len(watched.names.params) != len(params):
            watched.names = layouts.name_optimizer(params, self._registry, self._rule)
            watched.buffers = [None] * len(watched.names.buffers)
        with self._lock, torch.no_grad(), torch._C.DisableTorchFunction():
            shot = layouts.snapshot(params, state, watched.buffers)
            size = sum(t.numel() * t.element_size() for kind in layouts.KINDS for t in shot.tensors[kind])
            if size > self._state_left:
                self._left_out.append(watched.number)
                return
            self._state_left -= size
            self._save(f"final/optimizer-{watched.number:04d}", shot, watched.names)

    def _save(self, stem: str, shot: layouts.Snapshot, names: layouts.Names) -> None:
        from safetensors.torch import save_file

        tensors = {
            f"{kind}/{index}/{name}": tensor.detach().cpu().contiguous().clone()
            for kind, described in shot.describe(names).items()
            for index, ((name, _, _), tensor) in enumerate(zip(described, shot.tensors[kind], strict=True))
        }
        path = self._folder / f"{stem}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, path)

    def _finish(self) -> None:
        if os.getpid() != self._pid:
            return
        for number in sorted(self._finals):
            self._finals.pop(number)()
        self._write(
            {
                "end": self._steps,
                "rng": rng_digests(),
                "left_out": sorted(self._left_out),
                "seconds": time.perf_counter() - self._begun,
                "observing": self._seconds,
            }
        )
        self._lines.close()


def install(spec: dict[str, Any]) -> None:
    """Fix what makes a run differ from itself, then observe it. Called as soon as torch has been imported."""
    torch.set_num_threads(spec["threads"])
    torch.set_num_interop_threads(1)
    if spec["deterministic"] != "off":
        torch.use_deterministic_algorithms(True, warn_only=spec["deterministic"] == "warn")
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    seed_generators(spec["seed"])
    # A dynamo trace must not run into the hooks of an optimizer: they stay outside compiled code.
    Observer._on_step._torchdynamo_disable = True  # type: ignore[attr-defined]
    Observer(spec).install()
    sys.stdout.flush()
