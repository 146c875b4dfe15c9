"""What is known of PyTorch's operations: by their schemas, and of the waits in them by one table."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import torch

_WAITS: dict[str, dict[str, Any]] = {
    row["op"]: row for row in tomllib.loads((Path(__file__).parent / "waits.toml").read_text())["wait"]
}
_BOOLEAN = (torch.bool, torch.uint8)
# Operations that take tensors of the host and of a device together.
_MIXING = {
    "copy_",
    "index",
    "index_put",
    "index_put_",
    "_index_put_impl_",
    "_pack_padded_sequence",
    "set_",
    "_ctc_loss",
}
# They share memory, which their schema doesn't say.
_SHARING = {"_unsafe_view", "_reshape_alias", "lift_fresh"}


class Operation:
    """What is known of one operation by its schema."""

    __slots__ = ("form", "makes", "mixes", "name", "returned", "view", "wait", "writes", "writes_named")

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.name = schema.name.partition("::")[2]
        self.wait = _WAITS.get(self.name)
        arguments = schema.arguments
        written = [a.alias_info is not None and a.alias_info.is_write for a in arguments]
        self.writes = tuple(i for i, (a, w) in enumerate(zip(arguments, written, strict=True)) if w)
        self.writes_named = tuple(a.name for a, w in zip(arguments, written, strict=True) if w)
        aliases = [r.alias_info is not None for r in schema.returns]
        self.view = (any(aliases) and not any(written)) or self.name in _SHARING
        # For each result the argument that it is, for those that are written to.
        self.returned: tuple[tuple[int, str] | None, ...] = tuple(
            next(
                (
                    (i, a.name)
                    for i, a in enumerate(arguments)
                    if r.alias_info is not None
                    and r.alias_info.is_write
                    and a.alias_info is not None
                    and a.alias_info.before_set == r.alias_info.before_set
                ),
                None,
            )
            for r in schema.returns
        )
        self.form = torch.Tag.inplace_view in func.tags or self.name in ("resize_", "set_", "resize_as_")
        takes = any("Tensor" in str(a.type) for a in arguments)
        self.makes = not takes and any("Tensor" in str(r.type) for r in schema.returns)
        self.mixes = self.name in _MIXING or self.name.startswith(("_fused_", "_foreach_"))


def masks(args: tuple[Any, ...]) -> int:
    return sum(
        isinstance(a, torch.Tensor) and a.dtype in _BOOLEAN and a.is_cuda
        for a in args[1] or ()
        if a is not None
    )


def from_host(args: tuple[Any, ...]) -> int:
    """How many indices are tensors of the host, each of which is copied to the device."""
    found = 0
    for a in args[1] or ():
        if isinstance(a, torch.Tensor) and not a.is_cuda and a.numel():
            found += a.dim() if a.dtype in _BOOLEAN else 1
    return found


def times(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """How often an operation waits whose arguments decide that."""
    if name == "index":
        return masks(args)
    if "index_put" in name:
        value = args[2]
        filled = not value.is_cuda and value.numel() == 1 and not (len(args) > 3 and args[3])
        return 0 if filled else masks(args)
    if name == "normal":
        return int(len(args) > 1 and args[1].is_cuda)
    if name == "equal":
        # The same memory is equal without a look at it.
        return int(args[0].data_ptr() != args[1].data_ptr() or args[0].stride() != args[1].stride())
    return int(kwargs.get("output_size") is None)
