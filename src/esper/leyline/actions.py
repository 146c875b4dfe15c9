"""The factored action: eight heads, their index tables, and which head matters for which operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from esper.leyline.slots import AlphaCurve, BlendMode, Topology


class LifecycleOp(IntEnum):
    """Operation on the chosen slot."""

    WAIT = 0
    GERMINATE = 1
    SET_ALPHA_TARGET = 2
    PRUNE = 3
    FOSSILIZE = 4
    ADVANCE = 5


OP_WAIT = LifecycleOp.WAIT
OP_GERMINATE = LifecycleOp.GERMINATE
OP_SET_ALPHA_TARGET = LifecycleOp.SET_ALPHA_TARGET
OP_PRUNE = LifecycleOp.PRUNE
OP_FOSSILIZE = LifecycleOp.FOSSILIZE
OP_ADVANCE = LifecycleOp.ADVANCE
OP_NAMES: tuple[str, ...] = tuple(op.name for op in LifecycleOp)

BLUEPRINT_NAMES: tuple[str, ...] = (
    "norm",
    "attention",
    "depthwise",
    "conv_light",
    "conv_small",
    "conv_heavy",
    "bottleneck",
    "lora",
    "mlp",
)
"""Blueprint of each index of the blueprint head, for every kind of host: one policy network fits all."""

TOPOLOGY_BLUEPRINTS: Mapping[Topology, tuple[str, ...]] = {
    "cnn": ("norm", "attention", "depthwise", "conv_light", "conv_small", "conv_heavy", "bottleneck"),
    "transformer": ("norm", "attention", "lora", "mlp"),
}
"""The blueprints that fit a kind of host; masks take the others away."""

STYLE_NAMES: tuple[str, ...] = ("sigmoid_add", "linear_add", "linear_multiply", "sigmoid_gate")
STYLE_BLEND_MODES: tuple[BlendMode, ...] = (
    BlendMode.ADD,
    BlendMode.ADD,
    BlendMode.MULTIPLY,
    BlendMode.GATE,
)
STYLE_ALPHA_CURVES: tuple[AlphaCurve, ...] = (
    AlphaCurve.SIGMOID,
    AlphaCurve.LINEAR,
    AlphaCurve.LINEAR,
    AlphaCurve.SIGMOID,
)
"""Curve of the first rise of alpha; later changes take theirs from the curve head."""

TEMPO_NAMES: tuple[str, ...] = ("fast", "standard", "slow")
TEMPO_EPOCHS: tuple[int, ...] = (3, 5, 8)
"""Epochs of the first rise of alpha, per index of the tempo head."""

ALPHA_TARGET_VALUES: tuple[float, ...] = (0.5, 0.7, 1.0)

ALPHA_SPEED_NAMES: tuple[str, ...] = ("instant", "fast", "medium", "slow")
ALPHA_SPEED_STEPS: tuple[int, ...] = (0, 3, 5, 8)
"""Epochs that a retargeting or a prune takes, per index of the speed head; 0 is at once."""


@dataclass(frozen=True, slots=True)
class CurveChoice:
    """One entry of the curve head: a shape and, for the sigmoid, how steep."""

    name: str
    curve: AlphaCurve
    steepness: float


DEFAULT_CURVE_STEEPNESS = 12.0
ALPHA_CURVE_CHOICES: tuple[CurveChoice, ...] = (
    CurveChoice("linear", AlphaCurve.LINEAR, DEFAULT_CURVE_STEEPNESS),
    CurveChoice("cosine", AlphaCurve.COSINE, DEFAULT_CURVE_STEEPNESS),
    CurveChoice("sigmoid_gentle", AlphaCurve.SIGMOID, 6.0),
    CurveChoice("sigmoid", AlphaCurve.SIGMOID, DEFAULT_CURVE_STEEPNESS),
    CurveChoice("sigmoid_sharp", AlphaCurve.SIGMOID, 24.0),
)

HEAD_NAMES: tuple[str, ...] = (
    "slot",
    "blueprint",
    "style",
    "tempo",
    "alpha_target",
    "alpha_speed",
    "alpha_curve",
    "op",
)
"""The heads in the order of every action tensor's last dimension."""

HEAD_INDEX: Mapping[str, int] = {name: index for index, name in enumerate(HEAD_NAMES)}

CAUSAL_HEADS: Mapping[LifecycleOp, frozenset[str]] = {
    LifecycleOp.WAIT: frozenset({"op"}),
    LifecycleOp.GERMINATE: frozenset({"op", "slot", "blueprint", "style", "tempo", "alpha_target"}),
    LifecycleOp.SET_ALPHA_TARGET: frozenset({"op", "slot", "alpha_target", "alpha_speed", "alpha_curve"}),
    LifecycleOp.PRUNE: frozenset({"op", "slot", "alpha_speed", "alpha_curve"}),
    LifecycleOp.FOSSILIZE: frozenset({"op", "slot"}),
    LifecycleOp.ADVANCE: frozenset({"op", "slot"}),
}
"""The heads that an operation reads; the others had no effect and get no credit."""


def head_sizes(num_slots: int) -> dict[str, int]:
    """Number of choices of each head, in the order of HEAD_NAMES."""
    return {
        "slot": num_slots,
        "blueprint": len(BLUEPRINT_NAMES),
        "style": len(STYLE_NAMES),
        "tempo": len(TEMPO_EPOCHS),
        "alpha_target": len(ALPHA_TARGET_VALUES),
        "alpha_speed": len(ALPHA_SPEED_STEPS),
        "alpha_curve": len(ALPHA_CURVE_CHOICES),
        "op": len(LifecycleOp),
    }


@dataclass(frozen=True, slots=True)
class FactoredAction:
    """One environment's decision as indices into the tables above."""

    slot: int
    blueprint: int
    style: int
    tempo: int
    alpha_target: int
    alpha_speed: int
    alpha_curve: int
    op: int

    @property
    def lifecycle_op(self) -> LifecycleOp:
        """The operation as an enum member."""
        return LifecycleOp(self.op)
