"""Internals of torch that the simulation relies on: all that may change between its versions."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch

_C: Any = torch._C
Disabled: Any = _C.DisableTorchFunctionSubclass
push_mode: Callable[[Any], None] = _C._push_on_torch_dispatch_stack
pop_mode: Callable[[], None] = functools.partial(_C._pop_torch_dispatch_stack, None)
# The number of modes on the stack; one that is being asked is not on it.
modes: Callable[[], int] = _C._len_torch_dispatch_stack


def overloads(packet: Any) -> list[Any]:
    """The operations of one name that have kernels, and are not TorchScript's alone."""
    found = [getattr(packet, name) for name in packet.overloads()]
    return [operation for operation in found if _C._dispatch_has_kernel(operation.name())]


def is_composite(operation: Any) -> bool:
    """Tell whether an operation is made of others, which autograd sees in its place."""
    return bool(_C._dispatch_has_kernel_for_dispatch_key(operation.name(), "CompositeImplicitAutograd"))


def values_of(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor that holds the values of a sparse one, or that torch.func has wrapped."""
    functorch: Any = _C._functorch
    if functorch.is_functorch_wrapped_tensor(tensor):
        return values_of(functorch.get_unwrapped(tensor))
    if tensor.layout is torch.sparse_coo:
        return tensor._values()
    return tensor if tensor.layout is torch.strided else tensor.values()


def adopt_made(adopted: Callable[[Any], Any]) -> None:
    """Pass through ``adopted`` what torch.func wraps, old variables, and tensors of files and classes."""
    from torch._functorch import eager_transforms, vmap

    # The old `Variable(tensor)` gives a tensor of torch's own class.
    made: tuple[tuple[Any, str], ...] = (
        (vmap, "_add_batch_dim"),
        (vmap, "_remove_batch_dim"),
        (eager_transforms, "_wrap_for_grad"),
        (torch.autograd.Variable, "__new__"),
        (torch._utils, "_rebuild_tensor"),
        (torch.Tensor, "as_subclass"),
    )
    for owner, name in made:
        setattr(owner, name, _adopting(getattr(owner, name), adopted))


def _adopting(original: Any, adopted: Callable[[Any], Any]) -> Any:
    return lambda *args, **kwargs: adopted(original(*args, **kwargs))


def modules_move_by_number() -> None:
    """Have ``Module.to`` take the number of a device, which only a build for CUDA knows."""
    original = _C._nn._parse_to

    def named(value: Any) -> Any:
        return torch.device("cuda", value) if type(value) is int else value

    def parse(*args: Any, **kwargs: Any) -> Any:
        return original(*map(named, args), **{name: named(value) for name, value in kwargs.items()})

    _C._nn._parse_to = parse


def compiled_modules_are_wrapped() -> None:
    """Have ``torch.compile``, which runs eagerly, wrap a module as where it compiles: names are in files."""
    original: Any = torch.compile

    def compiled(model: Any = None, **options: Any) -> Any:
        made = original(model, **options)
        if made is not model or not isinstance(model, torch.nn.Module):
            return made
        frames: Any = importlib.import_module("torch._dynamo.eval_frame")
        return frames.OptimizedModule(model, frames._NullDecorator())

    torch.compile = compiled


def default_device() -> torch.device | None:
    """The device of ``with torch.device(...)`` or ``torch.set_default_device``, if there is one."""
    from torch.utils._device import DeviceContext

    for index in reversed(range(_C._len_torch_function_stack())):
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


def around_backward(through: Callable[..., Any]) -> None:
    """Have every backward pass run by ``through``, which is given torch's function and its arguments."""
    import torch.autograd.graph as graph

    run = functools.partial(through, graph._engine_run_backward)
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


def load_compiler() -> None:
    """Load the modules of torch's compiler that refuse streams other than torch's own.

    From torch 2.11 on they look at them only where a program is compiled.
    """
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11):
        importlib.import_module("torch._dynamo.device_interface")
