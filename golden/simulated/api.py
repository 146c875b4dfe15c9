"""What of ``torch.cuda`` is replaced, so that a program finds the devices it asks for."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import torch

from . import internals, moves
from .memory import MEMORY
from .moves import DEVICES, device_index
from .streams import (
    CURRENT,
    DEFAULTS,
    Backward,
    Event,
    Stream,
    StreamContext,
    current,
    host_waits,
    set_current,
)
from .syncs import SYNCS
from .tensor import SimulatedTensor, ambient

NAME = "simulated GPU"
_TOTAL = 16 << 30


class _Properties(types.SimpleNamespace):
    """What ``torch.cuda.get_device_properties`` gives."""


class _device:
    """``with torch.cuda.device(1):``."""

    def __init__(self, device: Any) -> None:
        self.index = device_index(device) if device is not None else None

    def __enter__(self) -> None:
        self.before = CURRENT.device
        if self.index is not None:
            CURRENT.device = self.index

    def __exit__(self, *_: Any) -> None:
        CURRENT.device = self.before


_HostGenerator: Any = torch.Generator


class _Generators(type(_HostGenerator)):  # type: ignore[misc]
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _HostGenerator)

    def __call__(cls, device: Any = "cpu") -> Any:
        index = device_index(device)
        if index is None:
            return _HostGenerator(device)
        made: Any = super().__call__()
        made.simulated_index = index
        return made


class _Generator(_HostGenerator, metaclass=_Generators):  # type: ignore[misc]
    """A generator of random numbers that says ``cuda:0``."""

    simulated_index: int

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.simulated_index)


class _NoInference(torch.no_grad):
    """``torch.inference_mode``: tensors that were made in it can't be wrapped."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode

    def __new__(cls, mode: Any = True) -> Any:
        return cls()(mode) if callable(mode) else super().__new__(cls)

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        if self.mode:
            torch.set_grad_enabled(False)

    def clone(self) -> Any:
        return type(self)(self.mode)


def synchronize(device: Any = None) -> None:
    """``torch.cuda.synchronize``."""
    SYNCS.note("synchronize")
    index = CURRENT.device if device is None else device_index(device)
    for stream in list(Stream.all):
        if stream.index == index:
            host_waits(stream.known())


def empty_cache() -> None:
    """``torch.cuda.empty_cache``, which waits for the device before it gives memory back."""
    SYNCS.note("empty_cache")


def _memory(what: str) -> Any:
    def told(device: Any = None) -> int:
        memory = MEMORY[CURRENT.device if device is None else device_index(device) or 0]
        return int(getattr(memory, what))

    return told


def _reset_peak(device: Any = None) -> None:
    memory = MEMORY[CURRENT.device if device is None else device_index(device) or 0]
    memory.peak_since = memory.live


def _legacy_tensor(name: str) -> Any:
    """``torch.cuda.FloatTensor`` and the like."""
    dtype = moves._DTYPES[name]

    class _Meta(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype == dtype

    def make(cls: Any, *args: Any) -> torch.Tensor:
        if len(args) == 1 and not isinstance(args[0], int):
            return torch.tensor(args[0], dtype=dtype, device="cuda")
        return torch.empty(*args or (0,), dtype=dtype, device="cuda")

    members = {"__new__": make, "dtype": dtype, "simulated_name": f"torch.cuda.{name}Tensor"}
    return _Meta(f"{name}Tensor", (), members)


def _properties(device: Any = None) -> _Properties:
    return _Properties(
        name=NAME,
        total_memory=_TOTAL,
        major=9,
        minor=0,
        multi_processor_count=1,
        is_integrated=0,
        is_multi_gpu_board=0,
        warp_size=32,
        gcnArchName="",
    )


def _own(function: Any) -> Any:
    """A function that is no other one: the compiler's tables have a row for each name."""
    return lambda *args, **kwargs: function(*args, **kwargs)


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _set_device(device: Any) -> None:
    index = device_index(device)
    if index is not None and (not isinstance(device, int) or device >= 0):
        CURRENT.device = index


def _set_default_tensor_type(kind: Any) -> None:
    name = getattr(kind, "simulated_name", kind)
    legacy = moves._LEGACY.fullmatch(name) if isinstance(name, str) else None
    if legacy:
        torch.set_default_dtype(moves._DTYPES[legacy[1]])
        torch.set_default_device("cuda")
    else:
        torch.set_default_device("cpu")
        _tensor_type(kind)


_tensor_type: Any = torch.set_default_tensor_type


@contextlib.contextmanager
def _backward(roots: Any) -> Iterator[None]:
    tensors = roots if isinstance(roots, (tuple, list)) else (roots,)
    index = next((tensor.number for tensor in tensors if isinstance(tensor, SimulatedTensor)), None)
    if index is None:
        yield
        return
    with ambient(index), Backward(index):
        yield


def _random_state(device: Any = "cuda") -> torch.Tensor:
    return torch.zeros(16, dtype=torch.uint8)


def replacements() -> dict[str, Any]:
    """What takes the place of what, by name in ``torch.cuda``."""
    count = DEVICES[0]
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: count,
        "current_device": lambda: CURRENT.device,
        "set_device": _set_device,
        "device": _device,
        "device_of": lambda t: _device(t.device if t.is_cuda else None),
        "get_device_name": lambda device=None: NAME,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_properties": _properties,
        "get_arch_list": lambda: ["sm_90"],
        "can_device_access_peer": lambda a, b: True,
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "init": _nothing,
        "_lazy_init": _nothing,
        "_lazy_call": lambda call, **_: None,
        "ipc_collect": _nothing,
        "set_sync_debug_mode": _nothing,
        "get_sync_debug_mode": lambda: 0,
        "utilization": lambda device=None: 0,
        "is_current_stream_capturing": lambda: False,
        "manual_seed": _nothing,
        "manual_seed_all": _nothing,
        "seed": _nothing,
        "seed_all": _nothing,
        "initial_seed": torch.initial_seed,
        "get_rng_state": _random_state,
        "get_rng_state_all": lambda: [_random_state() for _ in range(count)],
        "set_rng_state": _nothing,
        "set_rng_state_all": _nothing,
        "Stream": Stream,
        "Event": Event,
        "StreamContext": StreamContext,
        "stream": StreamContext,
        "current_stream": lambda device=None: current(None if device is None else device_index(device)),
        "default_stream": lambda device=None: DEFAULTS[
            CURRENT.device if device is None else device_index(device) or 0
        ],
        "set_stream": set_current,
        "synchronize": synchronize,
        "empty_cache": empty_cache,
        "memory_allocated": _memory("live"),
        "max_memory_allocated": _memory("peak_since"),
        "memory_reserved": _memory("live"),
        "max_memory_reserved": _memory("peak_since"),
        "memory_cached": _memory("live"),
        "max_memory_cached": _memory("peak_since"),
        "reset_peak_memory_stats": _reset_peak,
        "reset_max_memory_allocated": _reset_peak,
        "mem_get_info": lambda device=None: (_TOTAL - MEMORY[CURRENT.device].live, _TOTAL),
        "memory_summary": lambda device=None, abbreviated=False: "",
        "memory_stats": lambda device=None: {
            "allocated_bytes.all.current": MEMORY[CURRENT.device].live,
            "allocated_bytes.all.peak": MEMORY[CURRENT.device].peak_since,
            "num_alloc_retries": 0,
        },
    }


def _accelerator() -> dict[str, Any]:
    return {
        "is_available": lambda: True,
        "device_count": lambda: DEVICES[0],
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": lambda: CURRENT.device,
        "current_device_idx": lambda: CURRENT.device,
        "set_device_index": _set_device,
        "set_device_idx": _set_device,
        "current_stream": lambda device=None: current(None),
        "set_stream": set_current,
        "synchronize": synchronize,
        "empty_cache": empty_cache,
        "memory_allocated": _memory("live"),
        "max_memory_allocated": _memory("peak_since"),
        "reset_peak_memory_stats": _reset_peak,
    }


def install(devices: int) -> None:
    """Put the devices in place for the rest of the process."""
    DEVICES[0] = devices
    _ = DEFAULTS[0]
    names: Any = torch.cuda
    for name, value in replacements().items():
        if isinstance(value, types.FunctionType):
            value = _own(value)
        setattr(names, name, value)
        for module in (names.random, names.memory, names.streams):
            if hasattr(module, name):
                setattr(module, name, value)
    for name in moves._DTYPES:
        setattr(names, f"{name}Tensor", _legacy_tensor(name))
    accelerator: Any = getattr(torch, "accelerator", None)
    for name, value in _accelerator().items():
        if hasattr(accelerator, name):
            setattr(accelerator, name, _own(value))
    whole: Any = torch
    grad: Any = torch.autograd
    whole.inference_mode = grad.inference_mode = grad.grad_mode.inference_mode = _NoInference
    whole.set_default_tensor_type = _set_default_tensor_type
    # A build for CUDA would have cuDNN lay out the weights of an LSTM.
    torch.backends.cudnn.is_acceptable = lambda tensor: False
    moves.install(internals.constructors())
    whole.Generator = whole._C.Generator = _Generator
    internals.around_backward(_backward)
    _no_nccl()


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
