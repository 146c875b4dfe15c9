"""What each slot adds: validate all configurations of an env's slots in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from esper.leyline.telemetry import CounterfactualComputed
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.tolaria.runtime import on_stream


def process_fused_val_batch(
    env_state: ParallelEnvState,
    inputs: Tensor,
    targets: Tensor,
    *,
    torch_amp,
    placement,
) -> None:
    """Loss of an env's host as it is, and correct answers of all its configurations, in one pass."""
    configurations = env_state.configurations
    with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
        with torch_amp.autocast(
            env_state.device.type, dtype=placement.amp_dtype, enabled=placement.amp_dtype is not None
        ):
            logits = env_state.model.fused_forward(inputs, configurations)
        loss = F.cross_entropy(logits[0].float(), targets, reduction="sum")
        correct = (logits.argmax(2) == targets).sum(1)
        env_state.val_totals[: 1 + len(configurations)] += torch.cat(
            [loss.double()[None], correct.double()]
        )


def choose_configurations(contributing: Sequence[str]) -> list[dict[str, float]]:
    """The host as it is, without each of the given slots, and without all of them."""
    configurations = [{}, *({slot_id: 0.0} for slot_id in contributing)]
    if len(contributing) > 1:
        configurations.append(dict.fromkeys(contributing, 0.0))
    return configurations


def measure_contributions(
    configurations: Sequence[Mapping[str, float]], accuracies: Sequence[float]
) -> CounterfactualComputed | None:
    """What the accuracies of the configurations say of each slot; None where no slot was left out."""
    switched = [slot_id for override in configurations if len(override) == 1 for slot_id in override]
    if not switched:
        return None
    by_name = {"+".join(switched): accuracies[0]}
    contributions: dict[str, float] = {}
    for index, slot_id in enumerate(switched, start=1):
        others = [other for other in switched if other != slot_id]
        by_name["+".join(others) or "none"] = accuracies[index]
        contributions[slot_id] = accuracies[0] - accuracies[index]
    if len(switched) > 1:
        by_name["none"] = accuracies[len(switched) + 1]
    return CounterfactualComputed(accuracies=by_name, contributions=contributions)
