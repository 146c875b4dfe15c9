"""Pairs of tensors chosen by someone who was told the promise and not how it is kept: are they told apart?

Whatever the dtype, shape, strides or layout, a difference of one bit is seen, and two equal tensors are never
called different, wherever digests are made.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.two_tensor import TwoTensor

from golden.record.layout import Names, gather, titles
from golden.record.plan import Plan, Where
from golden.trace.sums import ROW
from tests.golden.project import Project

pytestmark = pytest.mark.slow

Pair = tuple[Callable[[], Any], Callable[[], Any]]
f = torch.tensor


class Opaque(torch.Tensor):
    """Its class does not say of what it is made."""

    @staticmethod
    def __new__(cls, inside: torch.Tensor) -> Opaque:
        return torch.Tensor._make_wrapper_subclass(cls, inside.shape, dtype=inside.dtype)  # type: ignore[attr-defined,no-any-return]

    def __init__(self, inside: torch.Tensor) -> None:
        self.inside = inside

    def __repr__(self) -> str:  # type: ignore[override]
        return "opaque"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return Opaque(func(*(getattr(x, "inside", x) for x in args), **(kwargs or {})))


class Refuses(torch.Tensor):
    """Forbids what a digest would ask for."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.cpu, torch.Tensor.clone, torch.Tensor.view, torch.Tensor.contiguous):
            raise RuntimeError(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def quantized(ints: list[int], scale: float = 0.5, zero: int = 2) -> torch.Tensor:
    return torch._make_per_tensor_quantized_tensor(torch.tensor(ints, dtype=torch.uint8), scale, zero)


def by_channel(scale: float) -> torch.Tensor:
    ints = torch.arange(4, dtype=torch.int8).view(2, 2)
    return torch._make_per_channel_quantized_tensor(ints, f([0.1, scale]).double(), f([0, 0]), 0)


def sparse(place: int, value: float, size: int = 8) -> torch.Tensor:
    return torch.sparse_coo_tensor(f([[1, place]]), f([1.0, value]), (size,))


def columns(places: list[int], size: int = 3) -> torch.Tensor:
    return torch.sparse_csc_tensor(f([0, 1, 2]), f(places), f([1.0, 2.0]), (size, 2))


def nested(*parts: list[float], jagged: bool = False) -> torch.Tensor:
    layout = torch.jagged if jagged else torch.strided
    return torch.nested.nested_tensor([f(part) for part in parts], layout=layout)


def fake(size: int) -> torch.Tensor:
    with FakeTensorMode():
        return torch.ones(size)


def freed() -> torch.Tensor:
    found = torch.ones(3)
    found.untyped_storage().resize_(0)
    return found


def inference(value: float) -> torch.Tensor:
    with torch.inference_mode():
        return torch.full((3,), value)


def of_bits(bits: int) -> torch.Tensor:
    return torch.tensor([bits], dtype=torch.int32).view(torch.float32)


def turned() -> torch.Tensor:
    return torch.complex(f([1.0, 2.0]), f([3.0, -4.0]))


LONG = torch.randn(3 * ROW + 5, generator=torch.Generator().manual_seed(1))
SQUARE = LONG[:ROW].view(32, 64)[:, :32]


def rows(*order: int) -> torch.Tensor:
    return torch.cat([LONG[: 3 * ROW].view(3, ROW)[list(order)].flatten(), LONG[3 * ROW :]])


def moved(by: int, *places: int) -> torch.Tensor:
    """Numbers of which the first chosen one grows by as much as the other one shrinks."""
    found = torch.arange(2 * ROW, dtype=torch.int32)
    found[places[0]] += by
    found[places[1]] -= by
    return found


OTHER: dict[str, Pair] = {
    "truth of another byte": (
        lambda: f([1, 0], dtype=torch.uint8).view(torch.bool),
        lambda: f([2, 0], dtype=torch.uint8).view(torch.bool),
    ),
    "zero's sign": (lambda: f([0.0]), lambda: f([-0.0])),
    "zero's sign, imaginary": (lambda: torch.complex(f([1.0]), f([0.0])), lambda: f([1 + 0j]).conj()),
    "NaN's payload": (lambda: of_bits(0x7FC00000), lambda: of_bits(0x7FC00001)),
    "NaN's sign": (lambda: of_bits(0x7FC00000), lambda: of_bits(-0x400000)),
    "NaN that signals": (lambda: of_bits(0x7FA00000), lambda: of_bits(0x7FE00000)),
    "a dimension more": (lambda: f(1.0), lambda: f([1.0])),
    "shape": (lambda: torch.arange(6).view(2, 3), lambda: torch.arange(6).view(3, 2)),
    "shape of nothing": (lambda: torch.ones(0, 3), lambda: torch.ones(3, 0)),
    "dtype of the same bytes": (lambda: torch.ones(4), lambda: torch.ones(4).view(torch.int32)),
    "dtype of nothing": (lambda: torch.ones(0), lambda: torch.ones(0, dtype=torch.int32)),
    "zeros more": (lambda: torch.zeros(3).byte(), lambda: torch.zeros(5).byte()),
    "transposed": (lambda: SQUARE, lambda: SQUARE.t()),
    "stretched the other way": (
        lambda: f([1.0, 2.0]).view(2, 1).expand(2, 2),
        lambda: f([1.0, 2.0]).expand(2, 2),
    ),
    "conjugate": (turned, lambda: turned().conj()),
    "negated view": (lambda: turned().conj().imag, lambda: turned().imag),
    "quantized: scale": (lambda: quantized([1, 2]), lambda: quantized([1, 2], 0.25)),
    "quantized: zero": (lambda: quantized([1, 2]), lambda: quantized([1, 2], zero=3)),
    "quantized: number": (lambda: quantized([1, 2]), lambda: quantized([1, 3])),
    "quantized: or not": (lambda: quantized([1, 2]), lambda: f([1, 2], dtype=torch.uint8)),
    "quantized: scale of a channel": (lambda: by_channel(0.2), lambda: by_channel(0.3)),
    "sparse: value": (lambda: sparse(2, 2.0), lambda: sparse(2, 3.0)),
    "sparse: place": (lambda: sparse(2, 2.0), lambda: sparse(3, 2.0)),
    "sparse: size": (lambda: sparse(2, 2.0), lambda: sparse(2, 2.0, 9)),
    "sparse: conjugate": (lambda: turned().to_sparse(), lambda: turned().conj().resolve_conj().to_sparse()),
    "sparse: or not": (lambda: torch.ones(4), lambda: torch.ones(4).to_sparse()),
    "columns: place": (lambda: columns([0, 1]), lambda: columns([0, 2])),
    "columns: size": (lambda: columns([0, 1]), lambda: columns([0, 1], 4)),
    "columns or rows": (lambda: torch.eye(2).to_sparse_csr(), lambda: torch.eye(2).to_sparse_bsr((1, 1))),
    "nested: value": (lambda: nested([1.0, 2.0], [3.0]), lambda: nested([1.0, 2.0], [4.0])),
    "nested: where it is cut": (lambda: nested([1.0, 2.0], [3.0]), lambda: nested([1.0], [2.0, 3.0])),
    "jagged: value": (lambda: nested([1.0], [3.0], jagged=True), lambda: nested([1.0], [4.0], jagged=True)),
    "jagged: where it is cut": (
        lambda: nested([1.0, 2.0], [3.0], jagged=True),
        lambda: nested([1.0], [2.0, 3.0], jagged=True),
    ),
    "without memory: size": (lambda: torch.ones(3, device="meta"), lambda: torch.ones(4, device="meta")),
    "without memory, or with": (lambda: torch.ones(3, device="meta"), lambda: torch.ones(3)),
    "fake: size": (lambda: fake(3), lambda: fake(4)),
    "freed, or not": (freed, lambda: torch.ones(3)),
    "of an engine's own layout": (
        lambda: torch.ones(3).to_mkldnn(),
        lambda: torch.full((3,), 2.0).to_mkldnn(),
    ),
    "second of two": (
        lambda: TwoTensor(torch.ones(1), torch.ones(1)),
        lambda: TwoTensor(torch.ones(1), torch.zeros(1)),
    ),
    "class that refuses": (lambda: f([1.0]).as_subclass(Refuses), lambda: f([2.0]).as_subclass(Refuses)),
    "for inference": (lambda: inference(1.0), lambda: inference(2.0)),
    "rows change places": (lambda: LONG, lambda: rows(1, 0, 2)),
    "a row twice": (lambda: rows(0, 0, 2), lambda: rows(2, 2, 0)),
    "a row later": (lambda: LONG[: 3 * ROW], lambda: LONG[: 3 * ROW].roll(ROW)),
    "an element later": (lambda: LONG, lambda: LONG.roll(1)),
    "reversed": (lambda: LONG, lambda: LONG.flip(0)),
    "sorted": (lambda: LONG, lambda: LONG.sort().values),
    "negated": (lambda: LONG, lambda: -LONG),
    "a constant more": (lambda: moved(0, 0, 0), lambda: moved(0, 0, 0) + 1),
    "made up for nearby": (lambda: moved(0, 0, 0), lambda: moved(1, 0, 1)),
    "made up for in the next row": (lambda: moved(0, 0, 0), lambda: moved(1 << 30, 5, ROW + 5)),
    "wraps around": (lambda: torch.full((ROW,), 2**63 - 1), lambda: torch.full((ROW,), -(2**63))),
    "all bits": (lambda: torch.full((4 * ROW,), -1), lambda: torch.zeros(4 * ROW, dtype=torch.int64)),
    "halves of a number": (lambda: f([1 << 32, 1]), lambda: f([1, 1 << 32])),
    "in a list": (lambda: [f([1.0]), {"k": f([3.0])}], lambda: [f([1.0]), {"k": f([3.00000024])}]),
    "order in a list": (lambda: [f([1.0]), f([2.0])], lambda: [f([2.0]), f([1.0])]),
    "in a queue": (lambda: collections.deque([f([1.0])]), lambda: collections.deque([f([2.0])])),
    "key": (lambda: {"a": f([1.0])}, lambda: {"b": f([1.0])}),
    "array": (lambda: np.ones(9), lambda: np.nextafter(np.ones(9), 2)),
    "array in the middle": (lambda: np.zeros(5000), lambda: np.eye(1, 5000, 2500)[0]),
    "kind of number": (lambda: 1, lambda: True),
}

EQUAL: dict[str, Pair] = {
    "a row over and over": (lambda: f([1.0, 2.0]).expand(3, 2), lambda: f([1.0, 2.0]).repeat(3, 1)),
    "overlapping": (
        lambda: torch.arange(9.0).as_strided((3, 3), (1, 1)),
        lambda: torch.arange(9.0).as_strided((3, 3), (1, 1)).clone(),
    ),
    "every second": (lambda: torch.arange(8)[::2], lambda: f([0, 2, 4, 6])),
    "conjugate twice": (turned, lambda: turned().conj().conj()),
    "conjugate, in memory": (lambda: turned().conj(), lambda: turned().conj().resolve_conj()),
    "negated and conjugate": (
        lambda: torch._neg_view(turned()).conj(),
        lambda: (-turned()).conj().resolve_conj(),
    ),
    "real part": (lambda: turned().real, lambda: f([1.0, 2.0])),
    "NaN": (lambda: of_bits(0x7FC00001), lambda: of_bits(0x7FC00001)),
    "gradient wanted": (lambda: f([1.0]), lambda: f([1.0]).requires_grad_()),
    "shared memory": (lambda: torch.ones(3).share_memory_(), lambda: torch.ones(3)),
    "numpy's memory": (lambda: torch.from_numpy(np.ones(3)), lambda: torch.ones(3).double()),
    "sparse, put together": (
        lambda: torch.sparse_coo_tensor(f([[1, 1]]), f([1.0, 2.0]), (4,)),
        lambda: torch.sparse_coo_tensor(f([[1]]), f([3.0]), (4,)),
    ),
    "objects at other addresses": (object, object),
    **{
        name: (make, make)
        for name, make in {
            "quantized": lambda: quantized([1, 2]),
            "quantized by channel": lambda: by_channel(0.2),
            "columns": lambda: columns([0, 1]),
            "nested": lambda: nested([1.0], [2.0, 3.0]),
            "jagged": lambda: nested([1.0], [2.0, 3.0], jagged=True),
            "without memory": lambda: torch.ones(3, device="meta"),
            "fake": lambda: fake(3),
            "freed": freed,
        }.items()
    },
}
WAYS: list[Where] = ["host", "device"]


def told(value: Any, where: Where) -> Any:
    """All that a trace says of a value in the state of an optimizer."""
    parameter = torch.nn.Parameter(torch.ones(1))
    state = {parameter: {"x": value}}
    names = Names(None, None, [0], ("Net#0",), ("w",), ())
    with torch.no_grad(), torch._C.DisableTorchFunction():
        entries = gather([parameter], state, [])
        plan = Plan(entries, titles([parameter], state, names), where)
        return plan.described, plan.digests(plan.dense(entries)), plan.extras(entries)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("where", WAYS)
@pytest.mark.parametrize("name", OTHER)
def test_another_tensor_is_told_apart(name: str, where: Where) -> None:
    left, right = OTHER[name]
    assert told(left(), where) != told(right(), where)
    assert told(left(), where) == told(left(), where)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("where", WAYS)
@pytest.mark.parametrize("name", EQUAL)
def test_equal_tensors_are_not_told_apart(name: str, where: Where) -> None:
    left, right = EQUAL[name]
    assert told(left(), where) == told(right(), where)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("where", WAYS)
@pytest.mark.parametrize("form", ["freed", "sparse", "nested", "quantized"])
def test_a_tensor_may_take_another_form_between_steps(form: str, where: Where) -> None:
    """A plan is asked whether it still holds before anything is read."""
    before, after = torch.ones(3), torch.ones(3)
    if form == "freed":
        after.untyped_storage().resize_(0)
    elif form == "sparse":
        after = after.to_sparse()
    elif form == "nested":
        after = nested([1.0], [2.0])
    else:
        after = quantized([1, 2, 3])
    plan = Plan([before], [("grads", "w")], where)
    now = plan.tensors([after])
    if now is None:
        plan = Plan([after], [("grads", "w")], where)
        now = plan.dense([after])
    assert plan.digests(now) != Plan([before], [("grads", "w")], where).digests([before])


UNREADABLE = """
import torch
from tests.golden.trace.test_hostile_digests import Opaque

weight = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([weight], 0.1)
optimizer.state[weight]["seen"] = Opaque(torch.ones(2))
optimizer.state[weight]["kept"] = object()
weight.sum().backward()
optimizer.step()
"""


def test_what_cannot_be_read_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.script(UNREADABLE)
    project.run_file('command = ["python", "train.py"]\nbudget = 3\n')
    left = project.record("a")
    result = project.golden("diff", left, left)
    assert result.code == 0, result
    name = "(parameter 0 of no module)"
    assert f"what can't be read (state {name}.kept (object), state {name}.seen (Opaque))" in result.out
