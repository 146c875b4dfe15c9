"""Driving a small model's slots from stage to stage, as the training loop does."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from esper.kasmina import MorphogeneticModel, create_host, create_text_host
from esper.leyline import AlphaCurve, BlendMode, SlotConfig
from esper.leyline.telemetry import Payload

T = TypeVar("T")
ModelFactory = Callable[..., MorphogeneticModel]


class Log(list[tuple[str, Payload]]):
    """What slots reported, in order."""

    def __call__(self, slot_id: str, payload: Payload) -> None:
        self.append((slot_id, payload))

    def of(self, kind: type[T]) -> list[T]:
        """Payloads of one type."""
        return [payload for _, payload in self if isinstance(payload, kind)]


def new_model(log: Log, seed: int = 0, **options: Any) -> MorphogeneticModel:
    """A host of a few hundred parameters with three empty slots."""
    generator = torch.Generator().manual_seed(seed)
    slots = SlotConfig()
    host = create_host((4, 8, 8), num_classes=10, generator=generator, slot_config=slots)
    return MorphogeneticModel(host, slots, generator, on_telemetry=log, **options)


def new_text_model(seed: int = 0, slots: int = 3) -> MorphogeneticModel:
    """A transformer of 16 channels over 42 characters and 16 positions, with empty slots."""
    generator = torch.Generator().manual_seed(seed)
    config = SlotConfig(tuple(f"r0c{index}" for index in range(slots)), "transformer")
    host = create_text_host(
        [16] * slots, alphabet=42, context_length=16, generator=generator, slot_config=config
    )
    return MorphogeneticModel(host, config, generator)


def germinate(
    model: MorphogeneticModel,
    slot_id: str = "r0c1",
    *,
    blueprint: str = "conv_light",
    blend_mode: BlendMode = BlendMode.ADD,
    tempo: int = 3,
    target: float = 1.0,
) -> bool:
    """Grow a seed at an accuracy of 0.4."""
    return model.germinate(
        slot_id,
        blueprint,
        blend_mode=blend_mode,
        alpha_curve=AlphaCurve.LINEAR,
        tempo_epochs=tempo,
        alpha_target=target,
        val_accuracy=0.4,
    )


def env_step(model: MorphogeneticModel, action: Callable[[], bool] | None = None) -> None:
    """Train an epoch (as far as slots notice, to an accuracy of 0.5), act, end the step."""
    model.record_epoch(0.5, dict.fromkeys(model.contributing_slots(), 0.02))
    if action is not None:
        assert action()
    model.step_epoch()


def grow_to_training(model: MorphogeneticModel, slot_id: str = "r0c1", **options: Any) -> None:
    """A seed that learns behind a straight-through estimator."""
    model.record_epoch(0.4, {})
    assert germinate(model, slot_id, **options)
    model.step_epoch()
    env_step(model)
    assert model.slot(slot_id).stage.name == "TRAINING"


def grow_to_holding(model: MorphogeneticModel, slot_id: str = "r0c1", **options: Any) -> None:
    """A seed at its target alpha, its weights away from zero."""
    grow_to_training(model, slot_id, **options)
    env_step(model, lambda: model.slot(slot_id).advance())
    while model.slot(slot_id).stage.name != "HOLDING":
        env_step(model)
    perturb(model, slot_id)


def perturb(model: MorphogeneticModel, slot_id: str) -> None:
    """Move a seed's weights, so that it changes what the host computes."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.seed_parameters(slot_id):
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
