"""What every env's host is after every epoch, whichever process trains it."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from esper.tolaria import engine
from esper.tolaria.setup import HostState

Hosts = dict[str, list[str]]


def state_of(env_state: HostState) -> str:
    """A digest of a host: weights, buffers, its optimizers' state, its random numbers."""
    content = io.BytesIO()
    optimizers = [optimizer.state_dict()["state"] for optimizer in env_state.optimizers]
    torch.save([env_state.model.state_dict(), optimizers, env_state.data_generator.get_state()], content)
    return hashlib.sha256(content.getvalue()).hexdigest()


class Watch:
    """Keeps the states of all hosts of this process, by env, and writes them to a file as they come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, rank: int) -> None:
        act, path, hosts = engine.execute_actions, self._folder / f"hosts-{rank}.json", dict[str, list[str]]()

        def execute_actions(env_states: Sequence[HostState], *given: Any, **named: Any) -> Any:
            outcomes = act(env_states, *given, **named)
            for env_state in env_states:
                hosts.setdefault(str(env_state.env_idx), []).append(state_of(env_state))
            path.write_text(json.dumps(hosts))
            return outcomes

        engine.execute_actions = execute_actions


def seen(folder: Path) -> Hosts:
    """What the processes of a run saw of all envs."""
    found: Hosts = {}
    for path in sorted(folder.glob("hosts-*.json")):
        of_rank = json.loads(path.read_text())
        assert not found.keys() & of_rank.keys(), "an env was trained twice"
        found |= of_rank
    return found
