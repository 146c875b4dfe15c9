"""What ``torch.cuda`` asks of a build for CUDA that only tunes or tells, and what can't be simulated."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

# Functions of `torch._C`, and what they give, whatever they are asked.
_BUILD: dict[str, Any] = {
    "_accelerator_setAllocatorSettings": None,
    "_cuda_canDeviceAccessPeer": True,
    "_cuda_getAllocatorBackend": "native",
    "_cuda_getCurrentRawStream": 0,
    "_cuda_getMemoryFraction": 1.0,
    "_cuda_get_sync_debug_mode": 0,
    "_cuda_hostMemoryStats": {},
    "_cuda_ipc_collect": None,
    "_cuda_memorySnapshot": {"segments": [], "device_traces": [], "allocator_settings": {}},
    "_cuda_record_memory_history": None,
    "_cuda_resetAccumulatedHostMemoryStats": None,
    "_cuda_resetAccumulatedMemoryStats": None,
    "_cuda_resetPeakHostMemoryStats": None,
    "_cuda_setMemoryFraction": None,
    "_cuda_set_sync_debug_mode": None,
    "_cuda_sleep": None,
    "_cuda_tunableop_is_enabled": False,
    "_cuda_tunableop_tuning_is_enabled": False,
    "_nccl_version": 2 << 32 | 27 << 16,
    "_nccl_version_suffix": b"",
}
# How names of `torch._C` begin that only a build for CUDA has.
_BUILT = ("_broadcast", "_cuda_", "_gather", "_nccl_", "_reduce_add", "_scatter")
# Functions of CUDA's own libraries that profilers are told by; 0 is success, and the depth of a range.
_RUNTIME = ("cudaProfilerStart", "cudaProfilerStop", "cudaHostRegister", "cudaHostUnregister")
_RANGES = ("rangePushA", "rangePop", "markA", "rangeStartA", "rangeEnd", "deviceRangeStart", "deviceRangeEnd")
# Names of `torch.cuda` that only a GPU can do.
_REFUSED = ("CUDAGraph", "CUDAPluggableAllocator", "ExternalStream", "MemPool", "graph_pool_handle")


def always(value: Any) -> Callable[..., Any]:
    """A function that gives a value, whatever it is asked."""
    return lambda *args, **kwargs: value


def not_simulated(name: str) -> str:
    """The text of an error."""
    return f"{name} is not simulated: this is a simulated GPU (golden syncs), without CUDA"


def _refused(name: str) -> type:
    def refuse(cls: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(not_simulated(name))

    return type(name, (), {"__new__": refuse})


def _missing(name: str) -> Any:
    """Say of a function that only a build for CUDA has who wanted it; torch's own error for others."""
    if not name.startswith(_BUILT):
        raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
    caller = sys._getframe(1)
    asked = f"{caller.f_globals.get('__name__', '')}.{caller.f_code.co_name}"
    raise AttributeError(not_simulated(f"{asked} (torch._C.{name})"))


def install() -> None:
    """Give the answers where ``torch.cuda`` asks for them."""
    build: Any = torch._C
    # A build for CUDA has functions of its own, which would ask a driver. Modules import its classes by name.
    for name, value in list(vars(build).items()):
        if name.startswith(_BUILT) and not isinstance(value, type):
            delattr(build, name)
    for name, value in _BUILD.items():
        setattr(build, name, always(value))
    build.__getattr__ = _missing
    cuda: Any = torch.cuda
    cuda.nvtx._nvtx = types.SimpleNamespace(**{name: always(0) for name in _RANGES})
    runtime = types.SimpleNamespace(**{name: always(0) for name in _RUNTIME})
    cuda.cudart, cuda.check_error = always(runtime), always(None)
    cuda.profiler.cudart, cuda.profiler.check_error = cuda.cudart, cuda.check_error
    profiler: Any = torch.autograd.profiler
    profiler.emit_nvtx = always(contextlib.nullcontext())
    # Its fake tensors can't stand for those of a device.
    torch.export.export = _refused("torch.export.export")
    for name in _REFUSED:
        for module in (cuda, cuda.graphs, cuda.memory, cuda.streams):
            if hasattr(module, name):
                setattr(module, name, _refused(f"torch.cuda.{name}"))
