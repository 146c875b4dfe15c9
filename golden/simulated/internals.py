"""Internals of torch that the simulation relies on: all that may change between its versions."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any

import torch

_C: Any = torch._C
_CPU = torch.device("cpu")
_MAKE: Any = torch.Tensor._make_wrapper_subclass
Disabled: Any = _C.DisableTorchFunctionSubclass
push_mode: Callable[[Any], None] = _C._push_on_torch_dispatch_stack


def pop_mode() -> None:
    """Take the last mode off the stack."""
    _C._pop_torch_dispatch_stack(None)


def make_wrapper(cls: type[torch.Tensor], inner: torch.Tensor) -> Any:
    """A tensor of class ``cls`` with the form of ``inner`` and no memory of its own.

    For C++ it is on the CPU: autograd needs a device guard for anything else.
    """
    form = {"dtype": inner.dtype, "device": _CPU}
    if inner.layout is torch.strided:
        form["strides"], form["storage_offset"] = inner.stride(), inner.storage_offset()
    else:
        form["layout"] = inner.layout
    return _MAKE(cls, inner.shape, **form)


def swap(one: Any, other: Any) -> None:
    """Exchange two tensors under the names that the program has for them.

    ``torch.utils.swap_tensors`` refuses a parameter that a graph still refers to; a GPU does not.
    """
    one.__class__, other.__class__ = other.__class__, one.__class__
    kept = dict(one.__dict__)
    one.__dict__.clear()
    one.__dict__.update(other.__dict__)
    other.__dict__.clear()
    other.__dict__.update(kept)
    _C._swap_tensor_impl(one, other)


def parameters_are_swapped() -> None:
    """Have ``Module.to`` leave each parameter the object that it is, as on a GPU."""
    torch.__future__.set_swap_module_params_on_conversion(True)
    utils: Any = torch.utils
    utils.swap_tensors = swap


def change_form(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Give a wrapper itself the sizes that an operation such as ``t_`` gives to what it wraps."""
    before = _C._meta_in_tls_dispatch_include()
    _C._set_meta_in_tls_dispatch_include(True)
    try:
        with _C._DisableTorchDispatch():
            func(*args, **kwargs)
    finally:
        _C._set_meta_in_tls_dispatch_include(before)


def default_device() -> torch.device | None:
    """The device of ``with torch.device(...)`` or ``torch.set_default_device``, if there is one."""
    from torch.utils._device import DeviceContext

    for index in range(_C._len_torch_function_stack()):
        mode = _C._get_function_stack_at(index)
        if isinstance(mode, DeviceContext):
            found: torch.device = mode.device
            return found
    return None


def constructors() -> list[str]:
    """The names in ``torch`` of the functions that make tensors and take a device."""
    from torch.utils import _device

    found: Any = _device._device_constructors()
    named = {getattr(function, "__name__", "") for function in found}
    like = [f"{name}_like" for name in ("empty", "full", "ones", "rand", "randint", "randn", "zeros")]
    return sorted({*(name for name in named if getattr(torch, name, None) in found), *like, "normal"})


def sequence_number() -> int | None:
    """The number that the next node of the autograd graph gets, where this version tells it."""
    of = getattr(getattr(_C, "_autograd", None), "_get_sequence_nr", None)
    return int(of()) if of is not None else None


def backward_node() -> int | None:
    """The number of the node of the autograd graph that runs now; None outside of a backward pass."""
    node = _C._current_autograd_node()
    return None if node is None else int(node._sequence_nr())


def around_backward(guard: Callable[[Any], contextlib.AbstractContextManager[None]]) -> None:
    """Have every backward pass run inside of ``guard(roots)``."""
    import torch.autograd.graph as graph

    original: Any = graph._engine_run_backward

    def run(*args: Any, **kwargs: Any) -> Any:
        with guard(args[0]):
            return original(*args, **kwargs)

    modules: tuple[Any, ...] = (graph, torch.autograd)
    for module in modules:
        module._engine_run_backward = run


def groups_by_device(device_of: Callable[[torch.Tensor], torch.device | None]) -> None:
    """Have torch group the tensors of an optimizer by the device that ``device_of`` gives."""
    original = _C._group_tensors_by_device_and_dtype

    def group(tensors: Any, with_indices: Any) -> Any:
        found = {}
        for (device, dtype), (lists, indices) in original(tensors, with_indices).items():
            first = next((tensor for tensor in lists[0] if tensor is not None), None)
            own = device_of(first) if first is not None else None
            found[own or device, dtype] = (lists, indices)
        return found

    _C._group_tensors_by_device_and_dtype = group


def own_storage_rebuilt(wrap: Callable[[torch.Tensor, Any], torch.Tensor]) -> None:
    """Pass each tensor that is loaded from a file, with its storage, through ``wrap``."""
    utils: Any = torch._utils
    original = utils._rebuild_tensor

    def rebuild(storage: Any, *args: Any) -> torch.Tensor:
        return wrap(original(storage, *args), getattr(storage, "_untyped_storage", storage))

    utils._rebuild_tensor = rebuild


def load_compiler() -> None:
    """Load the modules of torch's compiler that refuse streams other than torch's own.

    From torch 2.11 on they look at them only where a program is compiled.
    """
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11):
        importlib.import_module("torch._dynamo.device_interface")
