"""Hosts that several processes train together: the run of one but for roundings, the same each time."""

from __future__ import annotations

import itertools
import json
import math
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from esper.leyline import BLUEPRINT_NAMES, FactoredAction, SlotConfig
from esper.runtime import get_task_spec
from esper.scripts.train import main
from esper.tolaria import engine, setup
from esper.tolaria.host_parts import HostParts
from esper.tolaria.models import create_model
from tests.esper.distributed.processes import run, start
from tests.esper.distributed.test_faults import Strike
from tests.esper.records import events

# One worker makes the runs that these tests share.
pytestmark = [pytest.mark.xdist_group("host_parts"), pytest.mark.slow]
RUN = ["ppo", "--rounds", "1", "--envs", "2", "--episode-length", "12", "--train-images", "64"]
RUN += ["--val-images", "64", "--seed", "8", "--quiet", "--telemetry-level", "debug"]
TEXT = [*RUN, "--task", "char_lm"]
IMAGES = [*RUN, "--task", "cifar_minimal"]
# Every other epoch counts as broken.
BROKEN = [*IMAGES, "--governor-threshold", "2.33"]

ULP = torch.finfo(torch.float32).eps
LOSSES, NORMS, POLICY = "losses", "norms", "policy"
LEAST = {LOSSES: 16, NORMS: 2_048, POLICY: 256}
"""How many units in the last place of float32 may lie between the two in any case: of a host's losses; of its
gradients' norms, which batch normalisation makes of differences; of what the policy makes of both.
"""
# Training multiplies roundings, by how much depends on the machine: so many times what became, by
# then, of weights that began one unit in the last place apart.
TIMES = 16


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Callable[..., list[Any]]:
    """The events of a run of one process; made once for each command. `nudged`: from other weights."""
    known: dict[tuple[object, ...], list[Any]] = {}

    def train(*argv: str, nudged: bool = False) -> list[Any]:
        if (argv, nudged) not in known:
            folder = tmp_path_factory.mktemp("alone")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_CACHE_HOME", str(cache_home))
                if nudged:
                    patch.setattr(setup, "create_model", create_nudged)
                assert main([*argv, "--telemetry-dir", str(folder)]) == 0
            known[argv, nudged] = events(folder)
        return known[argv, nudged]

    return train


def create_nudged(*given: Any, **named: Any) -> Any:
    """A host of which every weight is the next number above or below, in turn."""
    model = create_model(*given, **named)
    with torch.no_grad():
        for parameter in model.parameters():
            sides = torch.where(torch.arange(parameter.numel()) % 2 == 0, math.inf, -math.inf)
            parameter.copy_(torch.nextafter(parameter, sides.view_as(parameter)))
    return model


def spread(argv: list[str], kind: str, size: int, folder: Path, prepare: Any = None) -> list[Any]:
    told = ["--telemetry-dir", str(folder), "--host-parallel", kind]
    ended = run([*argv, *told], size, folder / "errors", prepare)
    assert (ended.statuses, ended.lines) == ((0,) * size, [])
    return events(folder)


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{name}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item, name)
    else:
        yield name, value


def category(event: str, name: str) -> str:
    if event == "HOST_GRADIENT_NORMS":
        return NORMS
    return LOSSES if "_loss" in name and event != "PPO_UPDATE_COMPLETED" else POLICY


def assert_close(found: list[Any], expected: list[Any], nudged: list[Any]) -> None:
    """The same events in the same order; numbers no further apart than roundings become, all else equal."""
    assert [e["event_type"] for e in found] == [e["event_type"] for e in expected]
    limits = dict(LEAST)
    for one, other, third in itertools.zip_longest(found, expected, nudged[: len(found)]):
        if third is not None and third["event_type"] == other["event_type"]:
            for (name, a), (_, b) in zip(numbers(third), numbers(other), strict=True):
                if isinstance(a, float):
                    kind = category(other["event_type"], name)
                    limits[kind] = max(limits[kind], round(TIMES * apart(a, b)))
        for (name, a), (_, b) in zip(numbers(one), numbers(other), strict=True):
            kind = category(other["event_type"], name)
            if isinstance(a, float):
                assert apart(a, b) <= limits[kind], (kind, name, a, b)
            else:
                assert a == b, (name, other["event_type"])


def apart(a: float, b: float) -> float:
    """How far two numbers are apart in units of the last place of float32, of those of 1 at least."""
    return abs(a - b) / max(abs(a), abs(b), 1.0) / ULP


GROWN = {"SEED_GERMINATED", "SEED_PRUNED"}
KEPT = {*GROWN, "SEED_FOSSILIZED", "COUNTERFACTUAL_COMPUTED", "SHAPLEY_COMPUTED"}
ROLLED_BACK = {*GROWN, "GOVERNOR_ROLLBACK", "COUNTERFACTUAL_UNAVAILABLE"}
SPREAD = {"fsdp, text": ("fsdp", TEXT, KEPT), "ddp, images": ("ddp", BROKEN, ROLLED_BACK)}


@pytest.mark.parametrize(("kind", "argv", "happens"), SPREAD.values(), ids=SPREAD)
def test_two_processes_train_each_host(
    kind: str, argv: list[str], happens: set[str], alone: Callable[..., list[Any]], tmp_path: Path
) -> None:
    expected = alone(*argv)
    assert happens <= {event["event_type"] for event in expected}
    found = spread(argv, f"{kind}:2", 2, tmp_path / "one")
    assert_close(found, expected, alone(*argv, nudged=True))
    if kind == "fsdp":
        assert spread(argv, f"{kind}:2", 2, tmp_path / "again") == found


@pytest.mark.parametrize("kind", ["ddp:1", "fsdp:1"])
def test_one_part_is_the_whole(kind: str, alone: Callable[..., list[Any]], tmp_path: Path) -> None:
    short = [*TEXT, "--episode-length", "4"]
    assert spread(short, kind, 2, tmp_path / "two") == alone(*short)


@dataclass(frozen=True)
class Weigh:
    """Writes down how many numbers of hosts, seeds and optimizers lie on each process at the end."""

    folder: Path

    def __call__(self, rank: int) -> None:
        act = engine.execute_actions

        def execute_actions(env_states: Any, *given: Any, **named: Any) -> Any:
            outcomes = act(env_states, *given, **named)
            kept = [p for state in env_states for p in state.model.parameters()]
            states = [s for state in env_states for o in state.optimizers for s in o.state.values()]
            kept += [value for state in states for value in state.values() if value.dim()]
            local = sum(getattr(t, "_local_tensor", t).numel() for t in kept)
            whole = sum(t.numel() for t in kept)
            (self.folder / f"weight-{rank}.json").write_text(json.dumps([local, whole]))
            return outcomes

        engine.execute_actions = execute_actions


def test_each_process_holds_a_part_of_the_weights(tmp_path: Path) -> None:
    for kind, share in (("fsdp", 0.5), ("ddp", 1.0)):
        folder = tmp_path / kind
        folder.mkdir()
        spread([*TEXT, "--episode-length", "3"], f"{kind}:2", 2, folder, Weigh(folder))
        for rank in range(2):
            local, whole = json.loads((folder / f"weight-{rank}.json").read_text())
            assert math.isclose(local / whole, share, rel_tol=0.02)


@pytest.mark.parametrize(
    ("argv", "size", "message"),
    [
        (["--host-parallel", "ddp:2"], 3, "--host-parallel ddp:2: 3 processes can't be divided by 2"),
        (
            ["--host-parallel", "fsdp:2", "--train-images", "65"],
            2,
            "--train-images 65: leaves a batch of 1, too few for the 2 parts of --host-parallel; take 64, or "
            "more",
        ),
        (
            ["--host-parallel", "fsdp:2", "--amp", "--amp-dtype", "float16"],
            2,
            "--host-parallel fsdp:2: --amp-dtype float16 scales losses by the gradients of one process; take "
            "bfloat16",
        ),
    ],
)
def test_what_cannot_be_spread_is_one_line(argv: list[str], size: int, message: str, tmp_path: Path) -> None:
    ended = run([*IMAGES, *argv], size, tmp_path / "errors")
    assert ended.statuses == (2,) * size
    [line] = ended.lines
    assert line.endswith(message)


@pytest.mark.parametrize("victim", [0, 1])
def test_one_of_those_that_train_a_host_is_killed(victim: int, tmp_path: Path) -> None:
    argv = [*TEXT, "--host-parallel", "fsdp:2", "--save", str(tmp_path / "p.pt")]
    ended = start(argv, 2, tmp_path / "errors", Strike(victim, "validate", tmp_path)).wait()
    assert sorted(ended.statuses) == [-signal.SIGKILL, 3]
    [line] = ended.lines
    assert line.startswith(f"error: rank {victim} is gone; --resume ")


def test_a_seed_that_lies_on_ranks_starts_afresh() -> None:
    """As after a rollback to a time before a seed that was made permanent."""
    spec = get_task_spec("char_lm")
    slots = SlotConfig(spec.slots, spec.topology)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    models = []
    for spread_out in (False, True):
        generator = torch.Generator().manual_seed(1)
        model = create_model(spec, slots, slots.slot_ids, generator=generator, device=torch.device("cpu"))
        assert model.germinate_by_action(
            "r0c1", FactoredAction(1, BLUEPRINT_NAMES.index("mlp"), 0, 0, 0, 0, 0, 0), 0.1
        )
        if spread_out:
            HostParts("fsdp", 1, "cpu").spread_seed(model, "r0c1")
        with torch.no_grad():
            for parameter in model.seed_parameters("r0c1"):
                parameter.add_(1.0)
        model.slot("r0c1").reset_seed()
        models.append(model)
    plain, spread_over = (model.seed_parameters("r0c1") for model in models)
    assert all(torch.equal(a, b.full_tensor()) for a, b in zip(plain, spread_over, strict=True))
    dist.destroy_process_group()


def test_other_engines_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*IMAGES, "--host-parallel", "ddp:2"]) == 2
    assert capsys.readouterr().err == "error: --host-parallel ddp:2: needs --engine distributed\n"
