"""Replacements for ``torch.cuda``, so that a program finds the devices it asks for."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import types
from pathlib import Path
from typing import Any

import torch

from . import answers, constructors, internals, moves
from .answers import always
from .memory import MEMORY
from .mistakes import placed_gradients
from .moves import DTYPES, LEGACY
from .streams import (
    CURRENT,
    DEFAULTS,
    DEVICES,
    RACES,
    Event,
    Stream,
    backward,
    current,
    default,
    device_index,
    host_waits,
    set_current,
)
from .syncs import SYNCS, ran
from .tensor import SimulatedTensor, observed

_TOTAL = 16 << 30
_HostGenerator: Any = torch.Generator


class _Generator(_HostGenerator):  # type: ignore[misc]
    """A generator of random numbers, which may say ``cuda:0``."""

    device: Any = None

    def __new__(cls, device: Any = "cpu") -> Any:
        made, index = super().__new__(cls), device_index(device)
        made.device = torch.device("cpu" if index is None else f"cuda:{index}")
        return made


def synchronize(device: Any = None) -> None:
    """``torch.cuda.synchronize``."""
    SYNCS.note("synchronize")
    index = current(device_index(device)).index
    for stream in list(Stream.all):
        if stream.index == index:
            host_waits(stream.known())


def _memory_stats(index: int) -> dict[str, Any]:
    """The statistics that ``torch.cuda.memory_allocated`` and others look at."""
    size = {"all": {"current": MEMORY[index].live, "peak": MEMORY[index].peak_since}}
    return {"allocated_bytes": size, "reserved_bytes": size, "num_alloc_retries": 0}


def _reset_peak(index: int) -> None:
    MEMORY[index].peak_since = MEMORY[index].live


def _legacy_tensor(name: str) -> Any:
    """``torch.cuda.FloatTensor`` and the like."""
    dtype = DTYPES[name]

    class _Meta(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype == dtype

    members = {
        "__new__": lambda cls, *args: constructors.legacy(dtype, "cuda", *args),
        "dtype": dtype,
        "simulated_name": f"torch.cuda.{name}Tensor",
    }
    return _Meta(f"{name}Tensor", (), members)


def _exchange_device(index: int) -> int:
    """Make a device the current one, if it is one; the one before."""
    before, CURRENT.device = CURRENT.device, CURRENT.device if index < 0 else device_index(index) or 0
    return before


def _set_default_tensor_type(kind: Any) -> None:
    name = getattr(kind, "simulated_name", kind)
    legacy = LEGACY.fullmatch(name) if isinstance(name, str) else None
    if legacy:
        torch.set_default_dtype(DTYPES[legacy[1]])
    else:
        _tensor_type(kind)
    constructors.DEFAULT_TYPE[0] = "cuda" if legacy else "cpu"
    torch.set_default_device(constructors.DEFAULT_TYPE[0])


_tensor_type: Any = torch.set_default_tensor_type


def _backward(engine: Any, roots: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a backward pass, each operation on the stream of its forward operation."""
    tensors = roots if isinstance(roots, (tuple, list)) else (roots,)
    if args and args[0]:
        args = (placed_gradients(tensors, args[0]), *args[1:])
    index = next((tensor.number for tensor in tensors if isinstance(tensor, SimulatedTensor)), None)
    if index is None:
        return engine(roots, *args, **kwargs)
    with backward(index):
        return observed(engine, (roots, *args), kwargs)


_PROPERTIES = {
    "name": "simulated GPU",
    "total_memory": _TOTAL,
    "major": 9,
    "minor": 0,
    "multi_processor_count": 1,
}
# What functions of `torch.cuda` give, whatever they are asked.
_CONSTANT = {
    **dict.fromkeys(("is_available", "is_bf16_supported", "is_tf32_supported"), True),
    "_get_device_properties": types.SimpleNamespace(**_PROPERTIES),
    "get_arch_list": ["sm_90"],
    "is_current_stream_capturing": False,
    "memory_summary": "",
    "utilization": 0,
}
# Functions of `torch.accelerator` by their names in `torch.cuda`; one has no like there.
_ACCELERATOR = {
    "get_device_capability": "",
    "get_memory_info": "mem_get_info",
    "current_device_index": "current_device",
    "current_device_idx": "current_device",
    "set_device_index": "set_device",
    "set_device_idx": "set_device",
    "device_index": "device",
}


def replacements() -> dict[str, Any]:
    """Functions and classes that take the place of those of ``torch.cuda``, by name."""
    count = DEVICES[0]
    return {
        **{name: always(value) for name, value in _CONSTANT.items()},
        "device_count": lambda: count,
        "default_generators": tuple(_Generator(torch.device("cuda", index)) for index in range(count)),
        "_exchange_device": _exchange_device,
        "_maybe_exchange_device": _exchange_device,
        "Stream": Stream,
        "Event": Event,
        # A stream makes itself the current one.
        "stream": lambda stream: contextlib.nullcontext() if stream is None else stream,
        "current_stream": lambda device=None: current(device_index(device)),
        "default_stream": lambda device=None: default(current(device_index(device)).index),
        "set_stream": set_current,
        "synchronize": synchronize,
        # It waits for the device before it gives memory back.
        "empty_cache": lambda: SYNCS.note("empty_cache"),
        "mem_get_info": lambda device=None: (_TOTAL - torch.cuda.memory_allocated(device), _TOTAL),
    }


def install(devices: int) -> None:
    """Put the devices in place for the rest of the process."""
    DEVICES[0] = devices
    internals.load_compiler()
    default(0)
    cuda: Any = torch.cuda
    answers.install()
    for name, value in replacements().items():
        for module in (cuda, cuda.random, cuda.memory, cuda.streams):
            setattr(module, name, value)
    for name in DTYPES:
        setattr(cuda, f"{name}Tensor", _legacy_tensor(name))
    # The rest of `torch.cuda` is torch's own, and asks these.
    cuda._initialized = True
    build: Any = torch._C
    build._cuda_getDevice, build._cuda_setDevice = lambda: CURRENT.device, _exchange_device
    build._cuda_memoryStats, build._cuda_resetPeakMemoryStats = _memory_stats, _reset_peak
    accelerator = getattr(torch, "accelerator", None)
    ours = {**vars(cuda), "current_accelerator": always(torch.device("cuda"))}
    for name in getattr(accelerator, "__all__", ()):
        if function := ours.get(_ACCELERATOR.get(name, name)):
            setattr(accelerator, name, function)
    whole: Any = torch
    whole.set_default_tensor_type = _set_default_tensor_type
    # A build for CUDA would have cuDNN lay out the weights of an LSTM.
    torch.backends.cudnn.is_acceptable = lambda tensor: False
    moves.install()
    constructors.install()
    whole.Generator = build.Generator = _Generator
    whole.Stream, whole.Event = Stream, Event
    internals.around_backward(_backward)
    os.register_at_fork(after_in_child=_forked)
    _no_nccl()


def _forked() -> None:
    """Refuse the devices in a process that was forked after they had been used."""
    if any(memory.peak for memory in MEMORY.values()):
        DEVICES[0] = 0
        torch.cuda._is_in_bad_fork = always(True)
        # Each operation asks for a stream, and a new stream for its device.
        DEFAULTS.clear()
        CURRENT.streams.clear()


def _no_nccl() -> None:
    """Have processes talk by gloo that would by NCCL."""
    distributed: Any = torch.distributed
    if not distributed.is_available():
        return
    original = distributed.init_process_group

    def start(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        backend = "gloo" if backend is None or "nccl" in str(backend) else backend
        kwargs.pop("device_id", None)
        return original(backend, *args, **kwargs)

    distributed.init_process_group = distributed.distributed_c10d.init_process_group = start
    distributed.is_nccl_available = lambda: True


def start(spec: dict[str, Any]) -> None:
    """Put the devices in place, and write what was seen when the process ends."""
    install(spec["devices"])
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(SYNCS.stepped)
    pid, out = os.getpid(), Path(spec["out"])

    def write() -> None:
        if os.getpid() == pid:
            SYNCS.muted += 1
            out.mkdir(parents=True, exist_ok=True)
            found = {
                "steps": SYNCS.steps,
                "ran": ran(),
                "syncs": list(SYNCS.rows()),
                "races": RACES.rows(),
                "peaks": [memory.row(f"cuda:{index}") for index, memory in sorted(MEMORY.items())],
            }
            (out / f"simulated-{pid}.json").write_text(json.dumps(found))

    atexit.register(write)
