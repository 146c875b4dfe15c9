"""The growable model: a host whose slots can each grow a seed, and snapshots of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from torch import Generator, Tensor, nn

from esper.kasmina.blending import run_together
from esper.kasmina.gates import GateConfig
from esper.kasmina.slot import SeedSlot, SlotTelemetry
from esper.leyline import (
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    CONTRIBUTING_STAGES,
    DEFAULT_EMBARGO_EPOCHS,
    STYLE_ALPHA_CURVES,
    STYLE_BLEND_MODES,
    TEMPO_EPOCHS,
    AlphaCurve,
    BlendMode,
    FactoredAction,
    SeedStage,
    SeedStateReport,
    SlotConfig,
    SlottedHostProtocol,
)


@dataclass(frozen=True, slots=True)
class ModelSnapshot:
    """Weights and buffers of the host, and of the live seeds by seed id."""

    host: Mapping[str, Tensor]
    seeds: Mapping[str, Mapping[str, Tensor]]


class MorphogeneticModel(nn.Module):
    """A host and its slots. Seeds draw their initial weights from `generator`, which the environment owns."""

    def __init__(
        self,
        host: SlottedHostProtocol,
        slot_config: SlotConfig,
        generator: Generator,
        *,
        enabled_slots: Sequence[str] | None = None,
        gates: GateConfig | None = None,
        embargo_epochs: int = DEFAULT_EMBARGO_EPOCHS,
        on_telemetry: SlotTelemetry | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(host, nn.Module):
            raise TypeError(f"a host must be a module, not a {type(host).__name__}")
        self.host = host
        self._structure = repr(host)
        self.slot_config = slot_config
        self.enabled_slots = slot_config.require(enabled_slots or slot_config.slot_ids)
        self.slots = nn.ModuleDict(
            {
                slot_id: SeedSlot(
                    slot_id,
                    host.slot_channels[slot_id],
                    generator,
                    gates=gates or GateConfig(),
                    embargo_epochs=embargo_epochs,
                    topology=slot_config.topology,
                )
                for slot_id in slot_config.slot_ids
            }
        )
        self.set_telemetry(on_telemetry)

    def set_telemetry(self, on_telemetry: SlotTelemetry | None) -> None:
        """Have every slot report to `on_telemetry`, or to nobody."""
        for slot in self._slots():
            slot.on_telemetry = on_telemetry

    def slot(self, slot_id: str) -> SeedSlot:
        """The slot of that name; ValueError if the host has none."""
        self.slot_config.index_of(slot_id)
        slot = self.slots[slot_id]
        assert isinstance(slot, SeedSlot)
        return slot

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a batch: [batch, classes] of images, [batch, tokens, classes] of texts."""
        x = self.host.run_segment(0, x)
        for index, slot in enumerate(self._slots(), start=1):
            if slot.is_live:
                x = slot(x)
            x = self.host.run_segment(index, x)
        return x

    def fused_forward(self, x: Tensor, alpha_overrides: Sequence[Mapping[str, float]]) -> Tensor:
        """Logits [configurations, batch, ..., classes], one configuration per mapping from slot to alpha.

        A slot that a mapping leaves out keeps its alpha. Work is shared until configurations differ: the
        features before a slot are computed once for all that agree up to there, and so is a seed's output.
        Features that differ are computed in one call. The bits are those of separate forward passes.
        Evaluation mode only; RuntimeError otherwise.
        """
        if self.training:
            raise RuntimeError("fused_forward compares configurations and needs evaluation mode")
        if not alpha_overrides:
            raise ValueError("fused_forward needs at least one configuration")
        for override in alpha_overrides:
            self.slot_config.require(override)
        # `features` stacks the distinct ones; `places` says which of them belong to each configuration.
        features, places = self.host.run_segment(0, x), [0] * len(alpha_overrides)
        for index, slot in enumerate(self._slots(), start=1):
            if slot.is_live:
                alphas = [override.get(slot.slot_id, slot.alpha) for override in alpha_overrides]
                features, places = slot.branch(features, places, alphas)
            run = partial(self.host.run_segment, index)
            features = run_together(run, (self._structure, index), features, max(places) + 1)
        return features.unflatten(0, (max(places) + 1, -1))[places]

    def germinate(
        self,
        slot_id: str,
        blueprint: str,
        *,
        blend_mode: BlendMode,
        alpha_curve: AlphaCurve,
        tempo_epochs: int,
        alpha_target: float,
        val_accuracy: float = 0.0,
    ) -> bool:
        """Grow a seed in a dormant, enabled slot; False where that can't be."""
        if slot_id not in self.enabled_slots:
            return False
        return self.slot(slot_id).germinate(
            blueprint,
            blend_mode=blend_mode,
            alpha_curve=alpha_curve,
            tempo_epochs=tempo_epochs,
            alpha_target=alpha_target,
            accuracy=val_accuracy,
            device=next(self.host.parameters()).device,
        )

    def germinate_by_action(self, slot_id: str, action: FactoredAction, val_accuracy: float) -> bool:
        """`germinate` with what the action's heads chose."""
        return self.germinate(
            slot_id,
            BLUEPRINT_NAMES[action.blueprint],
            blend_mode=STYLE_BLEND_MODES[action.style],
            alpha_curve=STYLE_ALPHA_CURVES[action.style],
            tempo_epochs=TEMPO_EPOCHS[action.tempo],
            alpha_target=ALPHA_TARGET_VALUES[action.alpha_target],
            val_accuracy=val_accuracy,
        )

    def record_epoch(self, val_accuracy: float, contributions: Mapping[str, float]) -> None:
        """Count one trained and validated epoch in every slot; `contributions` as far as measured."""
        for slot in self._slots():
            slot.record_epoch(val_accuracy, contributions.get(slot.slot_id))

    def step_epoch(self) -> None:
        """End the env-step in every slot."""
        for slot in self._slots():
            slot.step_epoch()

    def slot_reports(self) -> dict[str, SeedStateReport]:
        """Reports of the slots that are not dormant, in the slots' order."""
        reports = {slot.slot_id: slot.report() for slot in self._slots()}
        return {slot_id: report for slot_id, report in reports.items() if report is not None}

    def live_slots(self) -> tuple[str, ...]:
        """Slots in which a module sits."""
        return tuple(slot.slot_id for slot in self._slots() if slot.is_live)

    def contributing_slots(self) -> tuple[str, ...]:
        """Slots whose seed changes the output; switching any other one off changes nothing."""
        return tuple(
            slot.slot_id for slot in self._slots() if slot.stage in CONTRIBUTING_STAGES and slot.alpha != 0.0
        )

    def host_parameters(self) -> list[nn.Parameter]:
        """The parameters of the host without its slots."""
        return list(self.host.parameters())

    def seed_parameters(self, slot_id: str) -> list[nn.Parameter]:
        """The parameters of the seed and its gate; empty where no module sits."""
        return list(self.slot(slot_id).parameters())

    @property
    def host_parameter_count(self) -> int:
        """How many numbers the host alone learns."""
        return sum(parameter.numel() for parameter in self.host.parameters())

    @property
    def total_parameters(self) -> int:
        """How many numbers host and seeds learn."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def germinated(self) -> int:
        """Seeds grown so far."""
        return sum(slot.germinated for slot in self._slots())

    @property
    def fossilized(self) -> int:
        """Seeds made permanent so far."""
        return sum(slot.fossilized for slot in self._slots())

    @property
    def pruned(self) -> int:
        """Seeds taken out so far, by whomever."""
        return sum(slot.pruned for slot in self._slots())

    def snapshot(self) -> ModelSnapshot:
        """A copy of the host's and all live seeds' weights, to come back to."""
        seeds = {
            slot.state.seed_id: _copy(slot.state_dict())
            for slot in self._slots()
            if slot.state is not None and slot.is_live
        }
        return ModelSnapshot(_copy(self.host.state_dict()), seeds)

    def restore(self, snapshot: ModelSnapshot, reason: str) -> tuple[str, ...]:
        """Put a snapshot's weights back and prune all seeds but fossilized ones; returns the pruned slots.

        A fossilized seed that is not in the snapshot starts again from fresh weights, which change nothing.
        """
        self.host.load_state_dict(snapshot.host)
        pruned = []
        for slot in self._slots():
            if slot.state is None or not slot.is_live:
                continue
            if slot.stage is not SeedStage.FOSSILIZED:
                slot.prune(reason, initiator="governor", min_age=0)
                pruned.append(slot.slot_id)
            elif slot.state.seed_id in snapshot.seeds:
                slot.load_state_dict(snapshot.seeds[slot.state.seed_id])
            else:
                slot.reset_seed()
        return tuple(pruned)

    def _slots(self) -> Iterator[SeedSlot]:
        for slot in self.slots.values():
            assert isinstance(slot, SeedSlot)
            yield slot


def _copy(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in state.items()}
