"""Replacements for ``torch.cuda``, so that a program finds the devices it asks for."""

from __future__ import annotations

import contextlib
import os
import types
from typing import Any

import torch

from . import answers, constructors, internals, moves
from .answers import always
from .memory import MEMORY
from .mistakes import check_gradients, refuse_fork
from .moves import DEVICES, DTYPES, LEGACY, device_index
from .streams import CURRENT, DEFAULTS, Event, Stream, backward, current, default, host_waits, set_current
from .syncs import SYNCS
from .tensor import SimulatedTensor, observed

NAME = "simulated GPU"
_TOTAL = 16 << 30


class _Device:
    """``with torch.cuda.device(1):``."""

    def __init__(self, device: Any) -> None:
        self.idx, self._before = device, 0

    def __enter__(self) -> None:
        self._before = CURRENT.device
        _set_device(self.idx)

    def __exit__(self, *_: Any) -> None:
        CURRENT.device = self._before


_HostGenerator: Any = torch.Generator


class _Generator(_HostGenerator):  # type: ignore[misc]
    """A generator of random numbers, which may say ``cuda:0``."""

    def __new__(cls, device: Any = "cpu") -> Any:
        made = super().__new__(cls)
        made.index = device_index(device)
        return made

    @property
    def device(self) -> torch.device:
        return torch.device("cpu") if self.index is None else torch.device("cuda", self.index)


class _AnyEvent(Event):
    """``torch.Event``, whose first argument is a device."""

    def __init__(self, device: Any = None, *, enable_timing: bool = False, **_: Any) -> None:
        super().__init__(enable_timing)


def synchronize(device: Any = None) -> None:
    """``torch.cuda.synchronize``."""
    SYNCS.note("synchronize")
    for stream in list(Stream.all):
        if stream.index == _number(device):
            host_waits(stream.known())


def empty_cache() -> None:
    """``torch.cuda.empty_cache``, which waits for the device before it gives memory back."""
    SYNCS.note("empty_cache")


def _number(device: Any) -> int:
    return CURRENT.device if device is None else device_index(device) or 0


def _memory(what: str) -> Any:
    return lambda device=None: getattr(MEMORY[_number(device)], what)


def _reset_peak(device: Any = None) -> None:
    memory = MEMORY[_number(device)]
    memory.peak_since = memory.live


def _legacy_tensor(name: str) -> Any:
    """``torch.cuda.FloatTensor`` and the like."""
    dtype = DTYPES[name]

    class _Meta(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype == dtype

    def make(cls: Any, *args: Any) -> torch.Tensor:
        return constructors.legacy(dtype, "cuda", *args)

    members = {"__new__": make, "dtype": dtype, "simulated_name": f"torch.cuda.{name}Tensor"}
    return _Meta(f"{name}Tensor", (), members)


def _own(function: Any) -> Any:
    """A function that is no other one: the compiler's tables have a row for each name."""
    return lambda *args, **kwargs: function(*args, **kwargs)


def _set_device(device: Any) -> None:
    index = None if isinstance(device, int) and device < 0 else device_index(device)
    CURRENT.device = CURRENT.device if index is None else index


def _set_default_tensor_type(kind: Any) -> None:
    name = getattr(kind, "simulated_name", kind)
    legacy = LEGACY.fullmatch(name) if isinstance(name, str) else None
    if legacy:
        torch.set_default_dtype(DTYPES[legacy[1]])
        torch.set_default_device("cuda")
    else:
        torch.set_default_device("cpu")
        _tensor_type(kind)


_tensor_type: Any = torch.set_default_tensor_type


def _moved(root: Any, gradient: Any) -> Any:
    """A gradient without dimensions, which torch copies to the device of its tensor."""
    both = isinstance(root, torch.Tensor) and isinstance(gradient, torch.Tensor)
    return gradient.to(root.device) if both else gradient


def _backward(engine: Any, roots: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a backward pass, each operation on the stream of its forward operation."""
    tensors = roots if isinstance(roots, (tuple, list)) else (roots,)
    if args and args[0]:
        check_gradients(tensors, args[0])
        args = (tuple(map(_moved, tensors, args[0])), *args[1:])
    index = next((tensor.number for tensor in tensors if isinstance(tensor, SimulatedTensor)), None)
    if index is None:
        return engine(roots, *args, **kwargs)
    with backward(index):
        return observed(engine, (roots, *args), kwargs)


def _random_state(device: Any = "cuda") -> torch.Tensor:
    return torch.zeros(16, dtype=torch.uint8)


_PROPERTIES = {
    "name": NAME,
    "total_memory": _TOTAL,
    "major": 9,
    "minor": 0,
    "multi_processor_count": 1,
}
# Functions of `torch.cuda` that do nothing here.
_IDLE = (
    *(
        "_lazy_call",
        "_lazy_init",
        "init",
        "ipc_collect",
        "manual_seed",
        "manual_seed_all",
        "seed",
        "seed_all",
    ),
    *("set_rng_state", "set_rng_state_all", "set_sync_debug_mode"),
)
# What they give, whatever they are asked.
_CONSTANT = {
    "is_available": True,
    "is_initialized": True,
    "get_device_name": NAME,
    "get_device_capability": (9, 0),
    "get_arch_list": ["sm_90"],
    "can_device_access_peer": True,
    "is_bf16_supported": True,
    "is_tf32_supported": True,
    "get_sync_debug_mode": 0,
    "utilization": 0,
    "is_current_stream_capturing": False,
    "memory_summary": "",
}
# Functions of `torch.accelerator` by their names in `torch.cuda`; one has no like there.
_ACCELERATOR = {
    "get_device_capability": "",
    "get_memory_info": "mem_get_info",
    "current_device_index": "current_device",
    "current_device_idx": "current_device",
    "set_device_index": "set_device",
    "set_device_idx": "set_device",
}


def _memory_stats(device: Any = None) -> dict[str, int]:
    memory = MEMORY[_number(device)]
    names = {"allocated_bytes.all.current": memory.live, "allocated_bytes.all.peak": memory.peak_since}
    return {**names, "num_alloc_retries": 0}


def replacements() -> dict[str, Any]:
    """Functions and classes that take the place of those of ``torch.cuda``, by name."""
    count = DEVICES[0]
    live, peak = _memory("live"), _memory("peak_since")
    return {
        **{name: always(None) for name in _IDLE},
        **{name: always(value) for name, value in _CONSTANT.items()},
        "device_count": lambda: count,
        "current_device": lambda: CURRENT.device,
        "set_device": _set_device,
        "device": _Device,
        "device_of": lambda t: _Device(t.device if t.is_cuda else None),
        "get_device_properties": lambda device=None: types.SimpleNamespace(**_PROPERTIES),
        "default_generators": tuple(_Generator(torch.device("cuda", index)) for index in range(count)),
        "initial_seed": torch.initial_seed,
        "get_rng_state": _random_state,
        "get_rng_state_all": lambda: [_random_state() for _ in range(count)],
        "Stream": Stream,
        "Event": Event,
        # A stream makes itself the current one.
        "stream": lambda stream: contextlib.nullcontext() if stream is None else stream,
        "current_stream": lambda device=None: current(_number(device)),
        "default_stream": lambda device=None: default(_number(device)),
        "set_stream": set_current,
        "synchronize": synchronize,
        "empty_cache": empty_cache,
        "memory_allocated": live,
        "memory_reserved": live,
        "memory_cached": live,
        "max_memory_allocated": peak,
        "max_memory_reserved": peak,
        "max_memory_cached": peak,
        "reset_peak_memory_stats": _reset_peak,
        "reset_max_memory_allocated": _reset_peak,
        "mem_get_info": lambda device=None: (_TOTAL - live(device), _TOTAL),
        "memory_stats": _memory_stats,
    }


def install(devices: int) -> None:
    """Put the devices in place for the rest of the process."""
    DEVICES[0] = devices
    internals.load_compiler()
    default(0)
    names: Any = torch.cuda
    ours = replacements()
    for name, value in ours.items():
        if isinstance(value, types.FunctionType):
            value = _own(value)
        setattr(names, name, value)
        for module in (names.random, names.memory, names.streams):
            if hasattr(module, name):
                setattr(module, name, value)
    for name in DTYPES:
        setattr(names, f"{name}Tensor", _legacy_tensor(name))
    ours["current_accelerator"] = always(torch.device("cuda"))
    accelerator = getattr(torch, "accelerator", None)
    for name in dir(accelerator):
        if function := ours.get(_ACCELERATOR.get(name, name)):
            setattr(accelerator, name, _own(function))
    whole: Any = torch
    whole.set_default_tensor_type = _set_default_tensor_type
    # A build for CUDA would have cuDNN lay out the weights of an LSTM.
    torch.backends.cudnn.is_acceptable = lambda tensor: False
    answers.install()
    moves.install()
    constructors.install()
    whole.Generator = whole._C.Generator = _Generator
    whole.Stream, whole.Event = Stream, _AnyEvent
    internals.around_backward(_backward)
    os.register_at_fork(after_in_child=_forked)
    _no_nccl()


def _forked() -> None:
    """Refuse the devices in a process that was forked after they had been used."""
    if any(memory.peak for memory in MEMORY.values()):
        DEVICES[0] = 0
        torch.cuda._is_in_bad_fork = always(True)
        # Each operation asks for a stream.
        DEFAULTS.clear()
        CURRENT.streams.clear()
        streams: Any = Stream
        streams.__init__ = refuse_fork


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
