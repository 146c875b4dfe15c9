"""Digests that are taken cheaply are those of the bytes, whatever became of a tensor or a generator since."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
import xxhash
from torch import nn

from golden.kinds.random_states import Observed
from golden.record.hooks import identity
from golden.record.layout import settings
from golden.record.naming import ModuleRegistry
from golden.record.plan import Plan
from golden.trace.digest import Flat
from golden.trace.paths import Patterns


def expected(tensors: list[torch.Tensor]) -> bytes:
    with torch.no_grad():
        return b"".join(xxhash.xxh3_128_digest(t.resolve_neg().numpy().tobytes()) for t in tensors)


def negated() -> torch.Tensor:
    return torch.view_as_complex(torch.randn(4, 6, 2)).conj().imag


CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "written to": lambda x: x.add_(1),
    "moved": lambda x: x.clone(),
    "data replaced": lambda x: setattr(x, "data", x.data * 2) or x,  # type: ignore[func-returns-value]
    "transposed": lambda x: torch.randn(6, 4).t(),
    "every second": lambda x: torch.randn(4, 12)[:, ::2],
    "negated": lambda x: negated(),
    "one bit": lambda x: x.view(torch.int32)[3, 5].bitwise_xor_(1) and x,
}


@pytest.mark.parametrize("change", CHANGES)
def test_digest_follows_the_bytes(change: str) -> None:
    tensors = [torch.randn(4, 6), torch.zeros(0, 3), torch.arange(5), torch.randn(300, 40)]
    flat = Flat(tensors)
    assert flat.digests(tensors) == expected(tensors)
    before = flat.digests(tensors)
    tensors[0] = CHANGES[change](tensors[0])
    assert flat.digests(tensors) == expected(tensors)
    assert (flat.digests(tensors) == before) is (change == "moved")


@pytest.mark.parametrize("change", ["view", "resize", "dtype", "absent"])
def test_plan_is_not_for_another_form_at_the_same_place(change: str) -> None:
    entries: list[torch.Tensor | None] = [torch.randn(4, 6)]
    plan = Plan(entries, [("params", "weight")])
    (tensor,) = entries
    assert tensor is not None
    assert plan.tensors(entries) is not None
    if change == "view":
        tensor.data = tensor.data.view(6, 4)
    elif change == "resize":
        tensor.resize_(4, 5)
    elif change == "dtype":
        tensor.data = tensor.data.view(torch.int32)
    else:
        entries = [None]
    assert plan.tensors(entries) is None


DRAWS: dict[str, tuple[str, Callable[[], object]]] = {
    "python": ("python", random.random),
    "half of a pair": ("python", lambda: random.gauss(0, 1)),
    "shuffle": ("python", lambda: random.shuffle([1, 2, 3])),
    "numpy": ("numpy", np.random.random),
    "torch": ("torch", lambda: torch.rand(1)),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_every_draw_shows_in_its_generator_alone(draw: str) -> None:
    name, function = DRAWS[draw]
    random.seed(3)
    generators = Observed()
    [(_, before)] = generators.step(Patterns(), last=False)
    assert list(generators.step(Patterns(), last=False)) == [("random state", before)]
    for _ in range(3):
        function()
        [(_, now)] = generators.step(Patterns(), last=False)
        assert list(Observed().step(Patterns(), last=False)) == [("random state", now)]
        assert {key for key in now if now[key] != before[key]} == {name}
        before = now


def test_settings_notice_what_equality_does_not() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=0.0)
    for value in (-0.0, False, [1, 2]):
        optimizer.param_groups[0]["lr"] = value
        assert settings(optimizer)["group 0 lr"] == repr(value)
    optimizer.param_groups[0]["lr"].append(3)
    assert settings(optimizer)["group 0 lr"] == "[1, 2, 3]"


def test_names_below_one_model_hold_while_another_grows() -> None:
    registry = ModuleRegistry()
    one, other = nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2))
    for model in (one, other):
        for module in model.modules():
            registry.note(module)
    assert registry.place(one[0].weight) is not None
    before = registry.version([identity(one)]), registry.version([identity(other)]), registry.version(None)
    registry._on_module(one, "1", nn.Linear(2, 2))
    assert registry.version([identity(one)]) != before[0]
    assert registry.version([identity(other)]) == before[1]
    assert registry.version(None) != before[2]
