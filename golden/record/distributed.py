"""Communication of a rank, call by call: what it asks for, gives and gets, as digests.

Listens to the functions of torch.distributed as the program calls them, and adds none of its own. What
DistributedDataParallel reduces inside of C++ is not among them.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

import torch

from ..trace.digest import short_digest, tensors_in
from .hooks import put, unseen

# Of each function the parameters that it gives to other ranks, and those that it fills.
_CALLS = {
    "all_reduce": ("tensor", "tensor"),
    "broadcast": ("tensor", "tensor"),
    "reduce": ("tensor", "tensor"),
    "all_gather": ("tensor", "tensor_list"),
    "all_gather_into_tensor": ("input_tensor", "output_tensor"),
    "all_gather_single": ("input_tensor", "output_tensor"),
    "all_gather_coalesced": ("input_tensor_list", ""),
    "all_reduce_coalesced": ("tensors", "tensors"),
    "reduce_scatter": ("input_list", "output"),
    "reduce_scatter_single": ("input", "output"),
    "reduce_scatter_tensor": ("input", "output"),
    "gather": ("tensor", "gather_list"),
    "scatter": ("scatter_list", "tensor"),
    "all_to_all": ("input_tensor_list", "output_tensor_list"),
    "all_to_all_single": ("input", "output"),
    "send": ("tensor", ""),
    "isend": ("tensor", ""),
    "recv": ("", "tensor"),
    "irecv": ("", "tensor"),
    "barrier": ("", ""),
    "monitored_barrier": ("", ""),
    "send_object_list": ("", ""),
    "recv_object_list": ("", ""),
    "all_gather_object": ("", ""),
    "broadcast_object_list": ("", ""),
    "gather_object": ("", ""),
    "scatter_object_list": ("", ""),
}
# What another rank must agree on, beside the form of the tensors.
_TOLD = ("op", "src", "dst", "group_src", "group_dst", "tag")

# Number of the call's text, backward passes of the step before it, digests of what it gave and got.
Row = list[Any]


class Collectives:
    """Keeps what this process asked of others since it was last asked; ``passes`` counts backward passes.

    ``write`` takes a record; ``on_joined`` is told the rank that the process has, each time that it joins
    others.
    """

    def __init__(
        self,
        write: Callable[[dict[str, Any]], None],
        passes: Callable[[], int],
        on_joined: Callable[[int], None],
    ) -> None:
        self._write, self._passes, self._on_joined = write, passes, on_joined
        self._lock = threading.Lock()
        self._inside = threading.local()
        self.reset()

    def reset(self) -> None:
        """Forget what was seen, as a forked process must."""
        # How often it has joined others, and of how many ranks the first group was.
        self.joined = self.ranks = 0
        self._rows: list[Row] = []
        self._numbers: dict[str, int] = {}
        self._fresh: list[tuple[int, str]] = []

    def install(self) -> None:
        """Listen from now on; nothing where torch was built without torch.distributed."""
        if not torch.distributed.is_available():
            return
        from torch.distributed import distributed_c10d

        for name, (given, filled) in _CALLS.items():
            original = getattr(distributed_c10d, name, None)
            if original is not None:
                listening = self._listening(name, original, given, filled)
                setattr(torch.distributed, name, listening)
                put(distributed_c10d, name, listening)
        join = distributed_c10d.init_process_group

        @functools.wraps(join)
        def observed_join(*args: Any, **kwargs: Any) -> Any:
            found = join(*args, **kwargs)
            self.joined += 1
            self.ranks = self.ranks or torch.distributed.get_world_size()
            self._on_joined(torch.distributed.get_rank())
            return found

        torch.distributed.init_process_group = observed_join
        put(distributed_c10d, "init_process_group", observed_join)

    def _listening(self, name: str, original: Any, given: str, filled: str) -> Any:
        @functools.wraps(original)
        def observed_call(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._inside, "call", False) or not torch.distributed.is_initialized():
                return original(*args, **kwargs)
            try:
                bound = _signature(original).bind(*args, **kwargs)
            except TypeError:
                # The function says itself what is wrong.
                return original(*args, **kwargs)
            bound.apply_defaults()
            asked, point, gives = bound.arguments, self._passes(), None
            try:
                gives = asked.get(given) if name != "broadcast" or _is_source(asked) else None
                text, before = _text(name, asked, given, filled), _digest(gives)
            except Exception as error:
                # A group that torch refuses, or leaves alone, is the program's own matter.
                text, before = f"{name} ({type(error).__name__} as it was looked at)", ""
            row = self._note(text, point, before)
            self._inside.call = True
            try:
                found = original(*args, **kwargs)
            finally:
                self._inside.call = False
            # What is still under way can't be read yet; who sends a broadcast gets nothing.
            if not hasattr(found, "wait") and (name != "broadcast" or gives is None):
                row[3] = _digest(asked.get(filled))
            return found

        return observed_call

    def _note(self, text: str, point: int, before: str) -> Row:
        with self._lock:
            number = self._numbers.get(text)
            if number is None:
                number = self._numbers[text] = len(self._numbers)
                self._fresh.append((number, text))
            row: Row = [number, point, before, ""]
            self._rows.append(row)
            return row

    def take(self) -> dict[str, Any]:
        """Return the calls since the last time in order, if there are any; write those that are new."""
        with self._lock:
            fresh, self._fresh = self._fresh, []
            rows, self._rows = self._rows, []
        for number, text in fresh:
            self._write({"call": number, "text": text})
        return {"calls": rows} if rows else {}


@functools.cache
def _signature(function: Any) -> inspect.Signature:
    # Asked for at the first call: most programs make none.
    return inspect.signature(function)


def _is_source(asked: dict[str, Any]) -> bool:
    group = asked.get("group")
    if asked.get("group_src") is not None:
        return bool(torch.distributed.get_rank(group) == asked["group_src"])
    return bool(torch.distributed.get_rank() == (asked.get("src") or 0))


def _text(name: str, asked: dict[str, Any], given: str, filled: str) -> str:
    """Describe a call without values: the function, the form of its tensors, whom it is meant for."""
    parts = [name]
    tensors = tensors_in(asked.get(given) if asked.get(given) is not None else asked.get(filled))
    if tensors:
        form = f"{str(tensors[0].dtype).removeprefix('torch.')}{list(tensors[0].shape)}"
        parts.append(form if len(tensors) == 1 else f"{form} and {len(tensors) - 1} more")
    for key in _TOLD:
        value = asked.get(key)
        if value is not None and not (key == "tag" and value == 0):
            shown = str(value).rpartition(".")[2].lower() if key == "op" else value
            parts.append(f"{key}={shown}")
    group = asked.get("group")
    if group is not None and group is not torch.distributed.group.WORLD:
        ranks = torch.distributed.get_process_group_ranks(group)
        if len(ranks) < torch.distributed.get_world_size():
            parts.append(f"among ranks {','.join(map(str, ranks))}")
    return " ".join(parts)


def _digest(value: Any) -> str:
    """Return the digest of tensors on the CPU; empty for none, and for those on other devices."""
    tensors = tensors_in(value)
    if not tensors or any(tensor.device.type != "cpu" for tensor in tensors):
        return ""
    with unseen():
        return short_digest(tensors)
