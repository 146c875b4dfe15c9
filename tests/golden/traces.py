"""Traces written by hand: two environments, one small model each, whatever events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import xxhash
from safetensors.torch import save_file

from golden.trace.outputs import write_outputs
from golden.trace.tolerance import Tolerance
from golden.trace.trace import FORMAT, About, write_about

KINDS = ("buffers", "grads", "params", "state")
Event = tuple[str, int | None, dict[str, Any]]


def about(tolerances: Sequence[Tolerance], **rest: Any) -> About:
    """The head of a trace, of no process."""
    told = {"run": "train", "label": "", "argv": ["python", "train.py"], "counts": {}, "processes": []} | rest
    fingerprint = {"torch": "2", "canary": "0"}
    return About(
        format=FORMAT, seed=0, fingerprint=fingerprint, seconds=2.0, tolerances=[*tolerances], **told
    )


def write_trace(
    folder: Path,
    *,
    run: str = "train",
    events: Sequence[Event] = (),
    steps: int = 6,
    first: int = 0,
    change: Mapping[tuple[int, int], float] | None = None,
    dense: bool = False,
    final: bool = False,
    model: str = "Host",
    tensor: str = "body.weight",
    fingerprint: Mapping[str, str] | None = None,
    label: str = "",
    reads: Mapping[tuple[str, int, str, str], int] | None = None,
    env_by_env: bool = False,
    tolerances: Sequence[Tolerance] = (),
) -> Path:
    """A trace whose weights at (env, step) and after are ``change`` times what they would be.

    It begins with step ``first``, as that of a resumed run. The envs take turns, or go one after the other
    (``env_by_env``).
    """
    process = folder / "rank-0"
    process.mkdir(parents=True)
    lines: list[dict[str, Any]] = []
    sites = dict(enumerate(reads or {}))
    for site, (file, line, function, read) in sites.items():
        lines.append({"site": site, "file": file, "line": line, "function": function, "read": read})
    names = {kind: [f"{tensor}.momentum_buffer" if kind == "state" else tensor] for kind in KINDS}
    for env in range(2):
        layout = {kind: [[name, "float32", [4]] for name in names[kind]] for kind in KINDS}
        roots = [f"{model}#{env}"]
        lines.append(
            {"layout": env, "optimizer": env, "class": "SGD", "env": env, "roots": roots, "tensors": layout}
        )
    for number in range((steps - first) * 2):
        step, env = first + number // 2, number % 2
        if env_by_env:
            env, step = divmod(number, steps - first)
            step += first
        factor = 1.0
        for (of, since), by in (change or {}).items():
            factor *= by if of == env and step >= since else 1.0
        values = torch.arange(1, 5, dtype=torch.float32) / (1 + step) * factor
        tensors = {f"{kind}/0/{names[kind][0]}": values.clone() for kind in KINDS}
        digest = xxhash.xxh3_128_hexdigest(values.numpy().tobytes())
        losses = [float(values.sum()).hex()]
        lines.append(
            {"step": number, "optimizer": env, "layout": env, "losses": losses, "settings": {}, "rng": {}}
            | {"reads": [[site, reads[key]] for site, key in sites.items()] if reads and not number else []}
            | dict.fromkeys(KINDS, digest)
        )
        if dense:
            (process / "dense").mkdir(exist_ok=True)
            save_file(tensors, process / "dense" / f"step-{number:06d}.safetensors")
        if final and step == steps - 1:
            (process / "final").mkdir(exist_ok=True)
            save_file(tensors, process / "final" / f"optimizer-{env:04d}.safetensors")
    if steps:
        end = {
            "end": (steps - first) * 2,
            "rng": {"torch": "0" * 32},
            "left_out": [],
        }
        lines.append({**end, "canary": "", "reads": []})
        (process / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with (folder / "events.jsonl").open("w") as file:
        for kind, of, payload in events:
            file.write(json.dumps({"kind": kind, "env": of, "payload": payload}) + "\n")
    write_outputs(folder, [])
    head = about(tolerances, run=run, label=label, processes=["rank-0"])
    write_about(folder, head.model_copy(update={"fingerprint": fingerprint or head.fingerprint}))
    return folder
