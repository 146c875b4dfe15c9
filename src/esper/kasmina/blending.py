"""The course of alpha, the ways to blend a seed in, and many configurations in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from esper.leyline import DEFAULT_CURVE_STEEPNESS, AlphaCurve, AlphaMode, BlendMode


@dataclass(slots=True)
class AlphaSchedule:
    """Alpha's way from `start` to `target` in `steps_total` steps; 0 steps: it is there already."""

    start: float
    target: float
    steps_total: int
    curve: AlphaCurve = AlphaCurve.LINEAR
    steepness: float = DEFAULT_CURVE_STEEPNESS
    steps_done: int = 0

    def __post_init__(self) -> None:
        if not (0.0 <= self.start <= 1.0 and 0.0 <= self.target <= 1.0):
            raise ValueError(f"alpha goes from 0 to 1, not from {self.start} to {self.target}")
        if self.steps_total < 0:
            raise ValueError(f"a schedule can't have {self.steps_total} steps")

    @property
    def done(self) -> bool:
        """True once the target is reached."""
        return self.steps_done >= self.steps_total

    @property
    def mode(self) -> AlphaMode:
        """Which way alpha is moving."""
        if self.done:
            return AlphaMode.HOLD
        return AlphaMode.UP if self.target > self.start else AlphaMode.DOWN

    @property
    def alpha(self) -> float:
        """Alpha after the steps done so far."""
        if self.done:
            return self.target
        share = curve_value(self.curve, self.steps_done / self.steps_total, self.steepness)
        return self.start + (self.target - self.start) * share

    def tick(self) -> None:
        """Take one step, if any is left."""
        if not self.done:
            self.steps_done += 1


def curve_value(curve: AlphaCurve, t: float, steepness: float = DEFAULT_CURVE_STEEPNESS) -> float:
    """Share of the way at time `t`, both in [0, 1]; every curve starts at exactly 0 and ends at exactly 1."""
    if t <= 0.0 or t >= 1.0:
        return 0.0 if t <= 0.0 else 1.0
    match curve:
        case AlphaCurve.LINEAR:
            return t
        case AlphaCurve.COSINE:
            return 0.5 * (1.0 - math.cos(math.pi * t))
        case AlphaCurve.SIGMOID:
            low = _logistic(-steepness / 2)
            return (_logistic(steepness * (t - 0.5)) - low) / (1.0 - 2.0 * low)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


_same_bits: dict[Hashable, bool] = {}
_separate: ContextVar[bool] = ContextVar("separate", default=False)


@contextmanager
def separately() -> Iterator[None]:
    """Make separate calls in the block, and try nothing."""
    token = _separate.set(True)
    try:
        yield
    finally:
        _separate.reset(token)


def run_together(run: Callable[[Tensor], Tensor], key: Hashable, stacked: Tensor, parts: int) -> Tensor:
    """Run the equal parts of `stacked` [parts * batch, ...] and stack the results.

    One call for all is faster, but which kernel computes it, and so the rounding, may follow from the size of
    the batch. So both ways are tried once for each `key` (what identifies the computation), shape and kind of
    device, and one call is made from then on only if the bits were the same.
    """
    if parts == 1:
        return run(stacked)
    if _separate.get():
        return torch.cat([run(part) for part in stacked.chunk(parts)])
    device = stacked.device
    lowered = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
    case = (key, parts, stacked.shape, stacked.dtype, device.type, lowered, torch.get_num_threads())
    known = _same_bits.get(case)
    if known:
        return run(stacked)
    separate = torch.cat([run(part) for part in stacked.chunk(parts)])
    if known is None:
        # hotpath: allow[HP014] once for each case, never again
        _same_bits[case] = torch.equal(run(stacked), separate)
    return separate


class BlendGate(nn.Module):
    """A share in (0, 1), learnt from the host's features: one per image, from all of it; one per token, from
    that token only, since its future is what the host is to predict.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Shares [batch, 1, 1, 1] of feature maps, or [batch, tokens, 1] of tokens."""
        if features.dim() == 3:
            return torch.sigmoid(self.linear(features))
        return torch.sigmoid(self.linear(features.mean(dim=(2, 3))))[:, :, None, None]


def blend(mode: BlendMode, features: Tensor, change: Tensor, alpha: float, gate: BlendGate | None) -> Tensor:
    """Features with a share `alpha` of the seed's `change` of them, which has the same shape.

    add: h + alpha c; multiply: h (1 + alpha tanh c); gate: h + alpha g(h) c.
    """
    match mode:
        case BlendMode.ADD:
            return torch.add(features, change, alpha=alpha)
        case BlendMode.MULTIPLY:
            return torch.addcmul(features, features, torch.tanh(change), value=alpha)
        case BlendMode.GATE:
            if gate is None:
                raise ValueError("gated blending needs a gate")
            return torch.addcmul(features, gate(features), change, value=alpha)


def straight_through(features: Tensor, change: Tensor) -> Tensor:
    """The features' values with the change's gradient: the seed learns while the host computes as before.

    Straight-through estimator (Bengio et al., 2013, arXiv:1308.3432). `change` must come from detached
    features, so that the host's gradient is what it is without a seed.
    """
    return features + _room(features, change) * (change - change.detach())


@torch.no_grad()
def _room(features: Tensor, change: Tensor) -> Tensor:
    """One share per example, [batch, 1, ...]: 1 for no change, down to 0 for one as large as the features.

    The loss does not feel a change that is only tried out, so its gradient never turns: nothing else would
    keep the change from growing past what the host can bear once it is blended in.
    """
    sizes = [
        torch.linalg.vector_norm(part.flatten(1), dim=1, dtype=torch.float32) for part in (features, change)
    ]
    share = (1.0 - sizes[1] / sizes[0].clamp_min(torch.finfo(torch.float32).tiny)).clamp_min(0.0)
    return share.to(change.dtype).view(-1, *(1,) * (change.dim() - 1))
