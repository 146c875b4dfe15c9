"""Engines by name: our own, and others by entry point."""

from importlib.metadata import EntryPoint

import pytest
import torch

from esper.leyline.errors import InputError
from esper.leyline.task import Loading
from esper.tolaria import engines
from esper.tolaria.distributed_engine import own_placement
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.engines import PlainEngine
from esper.tolaria.setup import Placement, Precision


def register(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Make entry points of the engines' group out of `name="module:attribute"`."""
    found = [EntryPoint(name, value, engines.GROUP) for name, value in values.items()]
    monkeypatch.setattr(engines, "entry_points", lambda *, group: found if group == "esper.engines" else [])


def test_engines_of_our_own_and_of_other_packages_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, mine="esper.tolaria.engines:PlainEngine", plain="somewhere:Else")
    assert engines.find_engine("vectorized") is VectorizedEngine
    assert engines.find_engine("plain") is engines.find_engine("mine") is PlainEngine


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spark", "--engine spark: no such engine; known are vectorized, plain, distributed"),
        ("bad", r"--engine bad: cannot be loaded \(ModuleNotFoundError: "),
    ],
)
def test_an_engine_that_is_not_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    register(monkeypatch, bad="no_such_module_anywhere:Engine")
    with pytest.raises(InputError, match=f"^{message}"):
        engines.find_engine(name)


@pytest.mark.parametrize(
    ("devices", "local_rank", "own"),
    [
        (["cpu"], 3, "cpu"),
        (["cuda"], 3, "cuda:1"),
        (["cuda:0", "cuda:1", "cuda:0"], 2, "cuda:0"),
        (["cuda:0", "cuda:1", "cuda:0"], 3, "cuda:1"),
    ],
)
def test_each_process_of_a_machine_has_one_device(devices: list[str], local_rank: int, own: str) -> None:
    named = tuple(map(torch.device, devices))
    placement = Placement(named[0], named, Precision(None, torch.amp), Loading())
    found = own_placement(placement, local_rank, 2)
    assert found.policy_device == torch.device(own)
    assert found.env_devices == (torch.device(own),) * len(devices)
