"""The canary taken apart: one digest for each family of kernels, so that a reader sees which ones differ.

Loaded by the program under test under a private name, so it imports only torch and xxhash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import xxhash
from torch import nn
from torch.nn import functional as F

from .digest import digests
from .gap import PREFIX

_Family = Callable[[torch.device], Sequence[torch.Tensor]]


def families(device: str) -> dict[str, str]:
    """The digest of each family of kernels (8 hex digits), every one from the same exact inputs.

    Reseeds the global generators: call it when nothing random follows.
    """
    place = torch.device(device)
    found = {}
    for name, family in _FAMILIES.items():
        with torch.no_grad():
            made = [tensor.detach().contiguous() for tensor in family(place)]
            found[f"{PREFIX}{name}"] = xxhash.xxh3_64_hexdigest(digests(made))[:8]
    return found


def _numbers(*shape: int, device: torch.device, low: float = -3.0, high: float = 3.0) -> torch.Tensor:
    """Numbers with full mantissas that every machine makes alike: a walk over thirds of a grid.

    Each operation is rounded as IEEE 754 says, whichever kernel does it.
    """
    count = 1
    for size in shape:
        count *= size
    walk = (torch.arange(count, dtype=torch.int64) * 7919) % 4099
    numbers = walk.to(torch.float64) / 4099 * (high - low) + low
    return numbers.to(torch.float32).reshape(shape).to(device)


def _elementwise(function: Any, low: float = -3.0, high: float = 3.0) -> _Family:
    return lambda device: [function(_numbers(1009, device=device, low=low, high=high))]


def _trained(kind: Any, **options: Any) -> _Family:
    """A parameter after three steps with given gradients, and what the optimizer keeps."""

    def family(device: torch.device) -> Sequence[torch.Tensor]:
        parameter = nn.Parameter(_numbers(1009, device=device))
        optimizer = kind([parameter], lr=0.01, **options)
        for scale in (1.0, 0.5, 0.25):
            parameter.grad = _numbers(1009, device=device, low=-1.0, high=1.5) * scale
            optimizer.step()
        state = optimizer.state[parameter].values()
        return [parameter, *[value for value in state if isinstance(value, torch.Tensor)]]

    return family


def _with_gradient(function: Any, *inputs: torch.Tensor) -> list[torch.Tensor]:
    leaves = [tensor.requires_grad_() for tensor in inputs]
    with torch.enable_grad():
        out = function(*leaves)
        # Gradients of a tensor that are given load the compiler's symbolic shapes.
        grads = torch.autograd.grad((out * 0.5).sum(), leaves)
    return [out, *grads]


def _convolution(device: torch.device) -> Sequence[torch.Tensor]:
    image = _numbers(2, 3, 13, 13, device=device)
    kernel = _numbers(16, 3, 3, 3, device=device, low=-0.5, high=0.5)
    return _with_gradient(lambda x, w: F.conv2d(x, w, padding=1), image, kernel)


def _product(device: torch.device) -> Sequence[torch.Tensor]:
    a, b = _numbers(37, 29, device=device), _numbers(29, 41, device=device, low=-1.0)
    return [a @ b, torch.bmm(a.expand(2, 37, 29), b.expand(2, 29, 41)), a @ b[:, 0]]


def _normalisation(device: torch.device) -> Sequence[torch.Tensor]:
    image = _numbers(4, 8, 5, 5, device=device)
    batch = _with_gradient(lambda x: F.batch_norm(x, None, None, training=True), image)
    return [*batch, *_with_gradient(lambda x: F.layer_norm(x, (5,)), image), F.group_norm(image, 4)]


def _recurrent(device: torch.device) -> Sequence[torch.Tensor]:
    found = []
    for kind in (nn.LSTM, nn.GRU):
        cells = kind(16, 24, batch_first=True).to(device)
        for parameter in cells.parameters():
            parameter.copy_(_numbers(*parameter.shape, device=device, low=-0.2, high=0.2))
        found.append(cells(_numbers(3, 7, 16, device=device))[0])
    return found


def _attention(device: torch.device) -> Sequence[torch.Tensor]:
    q, k, v = (_numbers(2, 2, 9, 8, device=device, low=low) for low in (-3.0, -2.0, -1.0))
    return _with_gradient(F.scaled_dot_product_attention, q, k, v)


def _softmax(device: torch.device) -> Sequence[torch.Tensor]:
    scores = _numbers(11, 19, device=device)
    labels = torch.arange(11, device=device)
    return [torch.softmax(scores, 1), *_with_gradient(lambda x: F.cross_entropy(x, labels), scores)]


def _sums(device: torch.device) -> Sequence[torch.Tensor]:
    numbers = _numbers(61, 67, device=device)
    return [numbers.sum(), numbers.mean(0), numbers.std(1), numbers.norm(), numbers.cumsum(0)]


def _random(device: torch.device) -> Sequence[torch.Tensor]:
    torch.manual_seed(1234)
    drawn = [torch.rand(37, device=device), torch.randn(203, device=device), torch.randperm(50)]
    return [*drawn, torch.bernoulli(drawn[0]), torch.multinomial(drawn[0], 5)]


_FAMILIES: dict[str, _Family] = {
    "convolution": _convolution,
    "matrix product": _product,
    "normalisation": _normalisation,
    "recurrent": _recurrent,
    "attention": _attention,
    "softmax": _softmax,
    "sums": _sums,
    "elementwise exp": _elementwise(torch.exp),
    "elementwise log": _elementwise(torch.log, 0.1, 3.0),
    "elementwise sqrt": _elementwise(torch.sqrt, 0.1, 3.0),
    "elementwise pow": _elementwise(lambda x: torch.pow(x, 1.7), 0.1, 3.0),
    "elementwise sin": _elementwise(torch.sin),
    "elementwise tanh": _elementwise(torch.tanh),
    "elementwise sigmoid": _elementwise(torch.sigmoid),
    "elementwise gelu": _elementwise(F.gelu),
    "optimizer SGD": _trained(torch.optim.SGD, momentum=0.9, weight_decay=0.01),
    "optimizer SGD, fused": _trained(torch.optim.SGD, momentum=0.9, weight_decay=0.01, fused=True),
    "optimizer Adam": _trained(torch.optim.Adam),
    "optimizer Adam, fused": _trained(torch.optim.Adam, fused=True),
    "optimizer RMSprop": _trained(torch.optim.RMSprop),
    "random numbers": _random,
}
