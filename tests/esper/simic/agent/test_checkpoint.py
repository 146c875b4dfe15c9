"""Saving and loading the agent."""

import os
import pickle
from pathlib import Path

import pytest
import torch

from esper.leyline.errors import InputError, OutputError
from esper.simic.agent import PPOAgent
from tests.esper.simic.agent.helpers import SLOTS, SMALL, play


class Bomb:
    """Runs code when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def agent() -> PPOAgent:
    made = PPOAgent(SLOTS, SMALL, seed=1)
    rollout = play(made, 2, 4)
    made.update(rollout.buffer, made.bootstrap_values(rollout.features, rollout.hidden))
    return made


def test_a_save_that_fails_keeps_the_old_file(agent: PPOAgent, tmp_path: Path) -> None:
    path = tmp_path / "agent.pt"
    agent.save(path, {"rounds": 1})
    with pytest.raises((pickle.PicklingError, AttributeError)):
        agent.save(path, {"rounds": lambda: None})
    assert PPOAgent.load(path)[1] == {"rounds": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["agent.pt"]


def test_a_place_that_cannot_be_written_is_named(agent: PPOAgent, tmp_path: Path) -> None:
    path = tmp_path / "none" / "agent.pt"
    with pytest.raises(OutputError) as caught:
        agent.save(path)
    assert str(caught.value) == (
        f"{path}: can't be written (No such file or directory); nothing was saved there"
    )


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        PPOAgent.load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.pt") == "no such file; give one that a run saved"


@pytest.mark.parametrize("keep", [0, 10, 3000])
def test_a_damaged_file_is_refused(agent: PPOAgent, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "agent.pt"
    agent.save(path)
    path.write_bytes(path.read_bytes()[:keep])
    assert refused(path) == "damaged, or not a checkpoint; save it again or choose another"


@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
def test_one_changed_byte_is_noticed(agent: PPOAgent, tmp_path: Path, place: float) -> None:
    path = tmp_path / "agent.pt"
    agent.save(path)
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)
    assert refused(path) == "damaged, or not a checkpoint; save it again or choose another"


def test_a_file_that_would_run_code_is_refused_unrun(tmp_path: Path) -> None:
    path = tmp_path / "agent.pt"
    torch.save({"format": Bomb(tmp_path / "exploded")}, path)
    assert refused(path) == "damaged, or not a checkpoint; save it again or choose another"
    assert not (tmp_path / "exploded").exists()


def test_somebody_elses_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.pt"
    torch.save({"weights": torch.zeros(2)}, path)
    assert refused(path) == "not a checkpoint of this trainer; give one that a run saved"
    torch.save({"format": "esper-ppo-agent", "version": 99}, path)
    assert refused(path) == "checkpoint version 99; this trainer reads 2"
    torch.save({"format": "esper-ppo-agent", "version": 2, "slot_ids": ["r0c0"]}, path)
    assert refused(path) == "does not fit this trainer ('config'); save it again"
