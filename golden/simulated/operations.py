"""PyTorch's operations: known by their schemas, and the waits in them by one table."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

import torch

from . import internals
from .mistakes import CHECKS

_WAITS: dict[str, dict[str, Any]] = {
    row["op"]: row for row in tomllib.loads((Path(__file__).parent / "waits.toml").read_text())["wait"]
}
_BOOLEAN = (torch.bool, torch.uint8)
# Operations that take tensors of the host and of a device together.
_MIXING = {"copy_", "index", "index_put", "index_put_", "_index_put_impl_", "set_", "_ctc_loss"}
_MIXING |= {"_pack_padded_sequence"}
# They share memory, which their schema doesn't say.
_SHARING = {"_unsafe_view", "_reshape_alias", "lift_fresh"}


class Operation:
    """An operation, as its schema describes it.

    Attributes:
        check: refuses arguments on two devices that only this operation refuses.
        plain: whether it only computes something of tensors.
        run: computes it, without a call in between.
        shares: whether its result always has the memory of its first argument.
        tensors: the positions and names of its arguments that are tensors.
        written: the positions and names of the arguments that it writes to.
    """

    def __init__(self, func: Any) -> None:
        schema, self.run = func._schema, getattr(func, "_op", func)
        self.name = schema.name.partition("::")[2]
        self.wait, self.check = _WAITS.get(self.name), CHECKS.get(self.name)
        self.written: tuple[tuple[int, str], ...] = tuple(
            (i, a.name)
            for i, a in enumerate(schema.arguments)
            if a.alias_info is not None and a.alias_info.is_write
        )
        aliases = any(r.alias_info for r in schema.returns)
        self.view = (aliases and not self.written) or self.name in _SHARING
        self.shares = self.view and not internals.is_composite(func)
        takes = [(i, a.name) for i, a in enumerate(schema.arguments) if "Tensor" in str(a.type)]
        self.tensors: set[int | str] = set().union(*takes)
        self.makes = not takes and any("Tensor" in str(r.type) for r in schema.returns)
        self.plain = bool(takes) and not (self.written or self.wait or self.check)
        self.mixes = self.name in _MIXING or self.name.startswith(("_fused_", "_foreach_"))


def single(func: Any) -> Operation | None:
    """The operation that a function of torch is and nothing else, whatever its arguments; None if it is more.

    It has no ``out`` argument here, and neither waits nor takes tensors of the host.
    """
    if not isinstance(func, (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)):
        return None
    packet: Any = getattr(torch.ops.aten, _SLOTS.get(func.__name__, func.__name__), None)
    if not hasattr(packet, "overloads"):
        return None
    overloads = internals.overloads(packet)
    operations = [Operation(one) for one in overloads if not any(a.is_out for a in one._schema.arguments)]
    # Such an operation is made of others, of which each counts.
    if not operations or any(map(internals.is_composite, overloads)):
        return None
    first = operations[0]
    first.tensors = set().union(*(one.tensors for one in operations))
    alike = all((one.written, one.makes) == (first.written, first.makes) for one in operations)
    return None if first.wait or first.makes or first.name in _MIXING or not alike else first


# How Python spells operations.
_SLOTS = {"__neg__": "neg"}
_SLOTS |= {f"__{name}__": name for name in ("eq", "ne", "lt", "le", "gt", "ge")}
for _name, _of in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div")):
    _SLOTS |= {f"__{_name}__": _of, f"__i{_name}__": f"{_of}_"}
# Methods that compute nothing.
ASKING = frozenset(
    {"dim", "element_size", "is_complex", "is_contiguous", "is_floating_point", "numel", "size", "stride"}
    | {"_has_compatible_shallow_copy_type"}
)


def _indices(args: tuple[Any, ...], *, on_device: bool) -> list[torch.Tensor]:
    return [a for a in args[1] or () if isinstance(a, torch.Tensor) and a.is_cuda == on_device]


def _masks(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return sum(a.dtype in _BOOLEAN for a in _indices(args, on_device=True))


def _put(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return 0 if _fills(args) else _masks(args, kwargs)


def _fills(args: tuple[Any, ...]) -> bool:
    """Tell whether a number is put where one mask says so, which is filled in without waiting."""
    value, accumulates = args[2], len(args) > 3 and args[3]
    indices = [a for a in args[1] if isinstance(a, torch.Tensor)]
    number = not value.is_cuda and value.numel() == 1
    return number and not accumulates and len(indices) == 1 and indices[0].dtype in _BOOLEAN


def _mm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return sum(a.layout is torch.sparse_coo and not a.is_coalesced() for a in args[:2] if a.is_cuda)


# How often an operation waits whose arguments decide that.
_TIMES: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], int]] = {
    "index": _masks,
    "index_put": _put,
    "index_put_": _put,
    "_index_put_impl_": _put,
    # The same memory is equal without a look at it.
    "equal": lambda args, _: int(len({(a.data_ptr(), a.stride()) for a in args[:2]}) > 1),
    "mm": _mm,
    "addmm": lambda args, kwargs: _mm(args[1:], kwargs),
    "where": lambda args, _: sum(isinstance(a, torch.Tensor) and not a.is_cuda for a in args),
    "_unique2": lambda args, _: int(args[0].numel() > 0),
    "normal": lambda args, _: int(len(args) > 1 and args[1].is_cuda),
    "repeat_interleave": lambda args, kwargs: int(kwargs.get("output_size") is None),
}


def times(operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Count how often an operation waits."""
    return int((operation.wait or {}).get("times", 0)) or _TIMES[operation.name](args, kwargs)


def from_host(operation: Operation, args: tuple[Any, ...]) -> int:
    """Count what an operation by indices copies from the host: indices, and the number that it puts there."""
    found = [a for a in _indices(args, on_device=False) if a.numel()]
    if operation.name != "index" and _fills(args):
        return 0
    number = operation.name != "index" and not args[2].is_cuda and args[2].dim() == 0
    return sum(a.dim() if a.dtype in _BOOLEAN else 1 for a in found) + number
