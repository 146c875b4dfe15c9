"""Builds the growable model of a task."""

from collections.abc import Sequence

import torch

from esper.kasmina import (
    CNNHost,
    GateConfig,
    MorphogeneticModel,
    TransformerHost,
    create_host,
    create_text_host,
)
from esper.leyline import SlotConfig
from esper.leyline.task import TaskSpec


def create_model(
    task_spec: TaskSpec,
    slot_config: SlotConfig,
    enabled_slots: Sequence[str],
    *,
    generator: torch.Generator,
    device: torch.device,
    gates: GateConfig | None = None,
) -> MorphogeneticModel:
    """A fresh host with empty slots, on a device, in channels-last layout; all weights come from the
    generator.
    """
    host: CNNHost | TransformerHost
    if task_spec.topology == "transformer":
        host = create_text_host(
            task_spec.widths,
            alphabet=task_spec.num_classes,
            context_length=task_spec.context_length,
            generator=generator,
            slot_config=slot_config,
        )
    else:
        host = create_host(
            task_spec.widths,
            num_classes=task_spec.num_classes,
            generator=generator,
            slot_config=slot_config,
            halved=task_spec.halved,
        )
    model = MorphogeneticModel(host, slot_config, generator, enabled_slots=enabled_slots, gates=gates)
    return model.to(device, memory_format=torch.channels_last)
