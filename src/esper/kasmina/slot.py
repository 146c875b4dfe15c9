"""One place in a host where a seed can grow: the seed's life and its share in the forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor, nn

from esper.kasmina.blending import AlphaSchedule, BlendGate, blend, run_together, straight_through
from esper.kasmina.blueprints import Seed, build_seed
from esper.kasmina.gates import GateConfig, PendingPrune, SeedState, evaluate_gate
from esper.kasmina.hosts import materialise
from esper.leyline import (
    DEFAULT_CURVE_STEEPNESS,
    DEFAULT_EMBARGO_EPOCHS,
    LIVE_STAGES,
    MIN_PRUNE_AGE,
    NEXT_STAGE,
    PRUNABLE_STAGES,
    AlphaCurve,
    BlendMode,
    SeedStage,
    SeedStateReport,
    Topology,
    is_legal_transition,
)
from esper.leyline.telemetry import (
    Payload,
    SeedFossilized,
    SeedGerminated,
    SeedPruned,
    SeedStageChanged,
)

SlotTelemetry = Callable[[str, Payload], None]
"""Called with the slot's name and what happened in it."""


class SeedSlot(nn.Module):
    """A slot of `channels` channels. Every stage change goes through `_move`, which refuses illegal ones."""

    def __init__(
        self,
        slot_id: str,
        channels: int,
        generator: Generator,
        *,
        gates: GateConfig,
        embargo_epochs: int = DEFAULT_EMBARGO_EPOCHS,
        topology: Topology = "cnn",
    ) -> None:
        super().__init__()
        self.slot_id = slot_id
        self.channels = channels
        self.topology = topology
        self.gates = gates
        self.embargo_epochs = embargo_epochs
        self.state: SeedState | None = None
        self.germinated = 0
        self.fossilized = 0
        self.pruned = 0
        self.on_telemetry: SlotTelemetry | None = None
        self._generator = generator
        self.seed: Seed | None = None
        self.gate: BlendGate | None = None

    @property
    def stage(self) -> SeedStage:
        """Where the slot stands."""
        return SeedStage.DORMANT if self.state is None else self.state.stage

    @property
    def is_live(self) -> bool:
        """True if a module sits in the slot."""
        return self.seed is not None

    @property
    def alpha(self) -> float:
        """The share of the seed's change that reaches the host's output."""
        return 0.0 if self.state is None else self.state.alpha

    def forward(self, features: Tensor) -> Tensor:
        """Features, of whatever shape the host has, with what the seed adds in its present stage."""
        if self.seed is None:
            return features
        if self.stage is SeedStage.TRAINING and self.training:
            return straight_through(features, self.seed(features.detach()))
        alpha = self.alpha
        return features if alpha == 0.0 else self.blend(features, self.seed(features), alpha)

    def blend(self, features: Tensor, change: Tensor, alpha: float) -> Tensor:
        """Features joined with a share `alpha` of the seed's change of them."""
        if self.state is None:
            raise RuntimeError(f"slot {self.slot_id} has no seed to blend")
        return blend(self.state.blend_mode, features, change, alpha, self.gate)

    def branch(
        self, stacked: Tensor, places: Sequence[int], alphas: Sequence[float]
    ) -> tuple[Tensor, list[int]]:
        """Several features at once, stacked along the batch: each configuration's, at `places`, joined with a
        share `alphas` of the seed's change. The distinct results, stacked, and each configuration's place.
        """
        parts = stacked.chunk(max(places) + 1)
        grown = sorted({place for place, alpha in zip(places, alphas, strict=True) if alpha != 0.0})
        if self.seed is None or self.state is None or not grown:
            return stacked, list(places)
        inputs = stacked if len(grown) == len(parts) else torch.cat([parts[place] for place in grown])
        key = (self.topology, self.state.blueprint, self.channels)
        changes = run_together(self.seed, key, inputs, len(grown)).chunk(len(grown))
        change = dict(zip(grown, changes, strict=True))
        joined: dict[tuple[int, float], Tensor] = {}
        for place, alpha in zip(places, alphas, strict=True):
            if (place, alpha) not in joined:
                part = parts[place]
                joined[place, alpha] = part if alpha == 0.0 else self.blend(part, change[place], alpha)
        order = {branch: position for position, branch in enumerate(joined)}
        return torch.cat(list(joined.values())), [order[b] for b in zip(places, alphas, strict=True)]

    def report(self) -> SeedStateReport | None:
        """The slot's state for the decision-maker; None for a dormant slot."""
        return None if self.state is None else self.state.report()

    def germinate(
        self,
        blueprint: str,
        *,
        blend_mode: BlendMode,
        alpha_curve: AlphaCurve,
        tempo_epochs: int,
        alpha_target: float,
        accuracy: float,
        device: torch.device,
    ) -> bool:
        """Grow a fresh seed; False if the slot is not dormant."""
        if self.state is not None:
            return False
        seed = build_seed(blueprint, self.channels, self._generator, self.topology)
        gate = None
        if blend_mode is BlendMode.GATE:
            gate = materialise(lambda: BlendGate(self.channels), self._generator)
            self.gate = gate.to(device)
        self.seed = seed.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.germinated += 1
        self.state = SeedState(
            slot_id=self.slot_id,
            seed_id=f"{self.slot_id}-{self.germinated}",
            blueprint=blueprint,
            blend_mode=blend_mode,
            schedule=AlphaSchedule(0.0, alpha_target, tempo_epochs, alpha_curve),
            tempo_epochs=tempo_epochs,
            seed_parameters=sum(parameter.numel() for parameter in self.parameters()),
            accuracy_at_germination=accuracy,
            accuracy=accuracy,
        )
        data = SeedGerminated(
            seed_id=self.state.seed_id, blueprint=blueprint, params=self.state.seed_parameters, alpha=0.0
        )
        self._emit(data)
        return True

    def advance(self) -> bool:
        """Move on to the next stage but the last, if the gate lets the seed pass."""
        target = NEXT_STAGE.get(self.stage)
        if target is None or target is SeedStage.FOSSILIZED:
            return False
        return self._pass_gate(target)

    def fossilize(self) -> bool:
        """Make the seed a permanent part of the host, if the gate lets it pass."""
        state = self.state
        if state is None or state.stage is not SeedStage.HOLDING or not self._pass_gate(SeedStage.FOSSILIZED):
            return False
        self.fossilized += 1
        data = SeedFossilized(
            seed_id=state.seed_id,
            blueprint=state.blueprint,
            params=state.seed_parameters,
            epochs=state.epochs_total,
            accuracy_gain=state.accuracy - state.accuracy_at_germination,
            contribution=state.contribution,
        )
        self._emit(data)
        return True

    def retarget(
        self,
        target: float,
        *,
        steps: int,
        curve: AlphaCurve,
        steepness: float = DEFAULT_CURVE_STEEPNESS,
    ) -> bool:
        """Move a held seed's alpha to `target` in `steps` epochs, 0 at once; False where it can't move."""
        state = self.state
        if state is None or state.stage is not SeedStage.HOLDING or state.moved or target == state.alpha:
            return False
        state.schedule = AlphaSchedule(state.alpha, target, steps, curve, steepness)
        if steps > 0:
            self._move(SeedStage.BLENDING)
        return True

    def prune(
        self,
        reason: str,
        *,
        initiator: str = "policy",
        steps: int = 0,
        curve: AlphaCurve = AlphaCurve.LINEAR,
        steepness: float = DEFAULT_CURVE_STEEPNESS,
        min_age: int = MIN_PRUNE_AGE,
    ) -> bool:
        """Take the seed out, at once or once alpha fell to zero in `steps` epochs; False where it can't."""
        state = self.state
        if state is None or state.stage not in PRUNABLE_STAGES or state.epochs_total < min_age:
            return False
        alpha = state.alpha
        if steps == 0 or alpha == 0.0:
            self._remove(reason, initiator)
            return True
        if state.pending_prune is not None or state.moved:
            return False
        state.pending_prune = PendingPrune(reason, initiator)
        state.schedule = AlphaSchedule(alpha, 0.0, steps, curve, steepness)
        if state.stage is SeedStage.HOLDING:
            self._move(SeedStage.BLENDING)
        return True

    def record_epoch(self, accuracy: float, contribution: float | None) -> None:
        """Count one trained and validated epoch."""
        if self.state is not None:
            self.state.record_epoch(accuracy, contribution)

    def step_epoch(self) -> None:
        """End the env-step: at most one stage change since the last call, then alpha's step."""
        state = self.state
        if state is None:
            return
        if not state.moved:
            self._move_by_itself(state)
        if state.stage is SeedStage.BLENDING:
            state.schedule.tick()
            pending = state.pending_prune
            if pending is not None and state.schedule.done and not state.moved:
                self._remove(pending.reason, pending.initiator)
        state.moved = False

    def reset_seed(self) -> None:
        """Replace the seed's weights by fresh ones, which change nothing in the host."""
        if self.state is None or self.seed is None:
            raise RuntimeError(f"slot {self.slot_id} has no seed to reset")
        fresh = build_seed(self.state.blueprint, self.channels, self._generator, self.topology)
        now = self.seed.state_dict()
        self.seed.load_state_dict(
            {name: _laid_out(new, now[name]) for name, new in fresh.state_dict().items()}
        )

    def _move_by_itself(self, state: SeedState) -> None:
        match state.stage:
            case SeedStage.PRUNED:
                self._move(SeedStage.EMBARGOED)
            case SeedStage.EMBARGOED if state.epochs_in_stage >= self.embargo_epochs:
                self._move(SeedStage.RESETTING)
            case SeedStage.RESETTING:
                self._move(SeedStage.DORMANT)
                self.state = None
            case SeedStage.BLENDING if not state.schedule.done or state.pending_prune is not None:
                pass
            case stage if stage in LIVE_STAGES and NEXT_STAGE.get(stage) in self.gates.auto_forward:
                self._pass_gate(NEXT_STAGE[stage])

    def _pass_gate(self, target: SeedStage) -> bool:
        state = self.state
        if state is None or state.moved or not is_legal_transition(state.stage, target):
            return False
        result = evaluate_gate(state, target, self.gates)
        self._emit(result)
        if result.passed:
            self._move(target)
        return result.passed

    def _move(self, target: SeedStage, reason: str | None = None) -> None:
        state = self.state
        if state is None or not is_legal_transition(state.stage, target):
            raise RuntimeError(f"slot {self.slot_id} can't go from {self.stage.name} to {target.name}")
        source, epochs, alpha = state.stage, state.epochs_in_stage, state.alpha
        state.previous_stage, state.stage = source, target
        state.epochs_in_stage = 0
        state.moved = True
        data = SeedStageChanged(
            seed_id=state.seed_id,
            blueprint=state.blueprint,
            from_stage=source.name,
            to_stage=target.name,
            epochs_in_stage=epochs,
            alpha=alpha,
            reason=reason,
        )
        self._emit(data)

    def _remove(self, reason: str, initiator: str) -> None:
        state = self.state
        if state is None:
            raise RuntimeError(f"slot {self.slot_id} has no seed to remove")
        state.prune_reason = reason
        state.pending_prune = None
        self._move(SeedStage.PRUNED, reason)
        self.seed = None
        self.gate = None
        self.pruned += 1
        data = SeedPruned(
            seed_id=state.seed_id,
            blueprint=state.blueprint,
            epochs=state.epochs_total,
            reason=reason,
            initiator=initiator,
            accuracy_gain=state.accuracy - state.accuracy_at_germination,
            contribution=state.contribution,
        )
        self._emit(data)

    def _emit(self, payload: Payload) -> None:
        if self.on_telemetry is not None:
            self.on_telemetry(self.slot_id, payload)


def _laid_out(value: Tensor, like: Tensor) -> Tensor:
    """A value over the ranks that another tensor lies on, if it does."""
    if not hasattr(like, "device_mesh"):
        return value
    from torch.distributed.tensor import distribute_tensor  # takes a while to load

    return distribute_tensor(value.to(like.device), like.device_mesh, like.placements)
