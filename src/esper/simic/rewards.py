"""Rewards of decisions: reward families and modes, their parts, and credit in hindsight."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from esper.leyline import (
    CONTRIBUTING_STAGES,
    DEFAULT_MIN_FOSSILIZE_CONTRIBUTION,
    LIVE_STAGES,
    LifecycleOp,
    SeedStage,
    SeedStateReport,
    TrainingSignals,
)


class RewardFamily(StrEnum):
    """Measure of success: accuracy that seeds contribute, or loss that falls."""

    CONTRIBUTION = "contribution"
    LOSS = "loss"


class RewardMode(StrEnum):
    """Which parts of the contribution reward there are, from all to hardly any."""

    SHAPED = "shaped"
    ESCROW = "escrow"
    SIMPLIFIED = "simplified"
    BASIC = "basic"
    MINIMAL = "minimal"
    SPARSE = "sparse"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardConfig:
    """Weights per unit of each part: accuracies and contributions are fractions, losses nats."""

    family: RewardFamily = RewardFamily.CONTRIBUTION
    mode: RewardMode = RewardMode.SHAPED
    contribution_weight: float = 10.0
    progress_weight: float = 10.0
    terminal_weight: float = 5.0
    potential_weight: float = 0.1
    rent_weight: float = 0.05
    shock_weight: float = 0.1
    op_cost: float = 0.01
    failure_cost: float = 0.05
    fossilize_weight: float = 20.0
    prune_weight: float = 5.0
    escrow_weight: float = 50.0
    scaffold_weight: float = 10.0
    scaffold_discount: float = 0.9
    max_scaffold_credit: float = 0.5
    min_fossilize_contribution: float = DEFAULT_MIN_FOSSILIZE_CONTRIBUTION
    loss_weight: float = 1.0
    max_loss_delta: float = 2.0

    @property
    def pays_at_end(self) -> bool:
        """True if the last step of an episode is paid for what was reached: then the episode is over, and
        no value of a state after it may be added to that.
        """
        return self.family is RewardFamily.CONTRIBUTION and self.mode is not RewardMode.BASIC

    @property
    def pays_scaffolds(self) -> bool:
        """True if credit in hindsight is a part of this reward."""
        shaping = (RewardMode.SHAPED, RewardMode.ESCROW)
        return self.family is RewardFamily.CONTRIBUTION and self.mode in shaping


@dataclass(frozen=True, slots=True)
class RentAndShock:
    """Parameters that a host carries besides its own, and the sum of alphas' squared jumps."""

    effective_seed_params: float
    alpha_shock: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardInputs:
    """One env-step: the decision, the slots before and after it, and how training goes.

    `escrow` is what was advanced for each seed until now, by its name; `scaffold_credit` the credit for
    seeds that helped one which became permanent in this step.
    """

    op: LifecycleOp
    success: bool
    slot_id: str | None
    before: Mapping[str, SeedStateReport]
    after: Mapping[str, SeedStateReport]
    signals: TrainingSignals
    host_params: int
    rent: RentAndShock
    escrow: Mapping[str, float] = field(default_factory=dict)
    scaffold_credit: float = 0.0

    @property
    def target(self) -> SeedStateReport | None:
        """The chosen slot as it was at the decision; None where it was dormant or none was chosen."""
        return None if self.slot_id is None else self.before.get(self.slot_id)

    @property
    def is_last(self) -> bool:
        """True if the episode ends with this step."""
        return self.signals.epoch >= self.signals.max_epochs


@dataclass(frozen=True, slots=True)
class RewardBreakdown:
    """A reward and the parts that sum to it; `escrow` is what is advanced for each seed from now on."""

    total: float
    components: Mapping[str, float]
    escrow: Mapping[str, float] = field(default_factory=dict)


def summed(components: Mapping[str, float], escrow: Mapping[str, float] | None = None) -> RewardBreakdown:
    """The parts with their sum."""
    return RewardBreakdown(math.fsum(components.values()), components, escrow or {})


def compute_rent_and_shock_inputs(
    reports: Mapping[str, SeedStateReport], previous_alphas: Mapping[str, float]
) -> RentAndShock:
    """Size of the live seeds, and how far alphas jumped since `previous_alphas` (missing slots were at 0)."""
    live = {slot_id: report for slot_id, report in reports.items() if report.stage in LIVE_STAGES}
    slots = [*live, *(slot_id for slot_id in previous_alphas if slot_id not in live)]
    jumps = ((live[slot].alpha if slot in live else 0.0) - previous_alphas.get(slot, 0.0) for slot in slots)
    return RentAndShock(
        effective_seed_params=float(sum(report.seed_parameters for report in live.values())),
        alpha_shock=math.fsum(jump * jump for jump in jumps),
    )


def rent(inputs: RewardInputs, config: RewardConfig) -> float:
    """Cost of size, growing with the logarithm of total to host parameters."""
    return -config.rent_weight * math.log1p(inputs.rent.effective_seed_params / inputs.host_params)


def shock(inputs: RewardInputs, config: RewardConfig) -> float:
    """Cost of alpha's jumps."""
    return -config.shock_weight * inputs.rent.alpha_shock


def op_cost(inputs: RewardInputs, config: RewardConfig) -> float:
    """Cost of doing anything, more if it failed."""
    if inputs.op is LifecycleOp.WAIT:
        return 0.0
    return -(config.op_cost if inputs.success else config.failure_cost)


_POTENTIALS: Mapping[SeedStage, float] = {
    SeedStage.GERMINATED: 1.0,
    SeedStage.TRAINING: 1.0,
    SeedStage.BLENDING: 2.0,
    SeedStage.HOLDING: 2.0,
    SeedStage.FOSSILIZED: 3.0,
}


def potential_change(inputs: RewardInputs, config: RewardConfig) -> float:
    """Change by the decision of how far along the seeds are; going and coming back earns nothing.

    Potential-based shaping (Ng, Harada, Russell, 1999). Stages that a seed enters by itself have the
    potential of the stage before, so the changes by decisions alone telescope.
    """
    gain = _potential(inputs.after) - _potential(inputs.before)
    return config.potential_weight * gain


def _potential(reports: Mapping[str, SeedStateReport]) -> float:
    return math.fsum(_POTENTIALS.get(report.stage, 0.0) for report in reports.values())


def attributed(report: SeedStateReport, val_accuracy: float) -> float:
    """The part of a seed's contribution that counts: no more than accuracy has risen since it germinated.

    A host adapts to its seed, so that losing the seed costs far more accuracy than having it has gained.
    """
    if report.contribution is None:
        return 0.0
    gained = max(0.0, val_accuracy - report.accuracy_at_germination)
    return min(report.contribution, gained)


def escrow_accounts(inputs: RewardInputs, config: RewardConfig) -> dict[str, float]:
    """Return the advance after this step, by seed: `escrow_weight` times what it surely contributes.

    A seed that is gone has nothing, nor has one that is not permanent when the episode ends.
    """
    return {
        report.seed_id: config.escrow_weight * _sure(report, inputs.signals.val_accuracy)
        for report in inputs.after.values()
        if report.stage is SeedStage.FOSSILIZED
        or (report.stage in CONTRIBUTING_STAGES and not inputs.is_last)
    }


def escrow_payment(inputs: RewardInputs, config: RewardConfig) -> float:
    """The change of all accounts in this step.

    Payments of an episode telescope: they sum to the last accounts, which only permanent seeds have.
    """
    return _balance(escrow_accounts(inputs, config)) - _balance(inputs.escrow)


def _sure(report: SeedStateReport, val_accuracy: float) -> float:
    """The smaller of the last two measured contributions, so that one lucky epoch advances nothing; not
    below 0.
    """
    if report.previous_contribution is None:
        return 0.0
    return max(0.0, min(attributed(report, val_accuracy), report.previous_contribution))


def _balance(accounts: Mapping[str, float]) -> float:
    return math.fsum(accounts.values())


Part = Callable[[RewardInputs, RewardConfig], float]


def compute_reward(inputs: RewardInputs, config: RewardConfig) -> RewardBreakdown:
    """The reward of one env-step under the configured mode."""
    parts = {name: part(inputs, config) for name, part in PARTS[config.mode].items()}
    accounts = escrow_accounts(inputs, config) if config.mode is RewardMode.ESCROW else {}
    return summed(parts, accounts)


def contribution(inputs: RewardInputs, config: RewardConfig) -> float:
    """Accuracy of this epoch that is due to all seeds that take part in the output."""
    return config.contribution_weight * math.fsum(
        attributed(report, inputs.signals.val_accuracy)
        for report in inputs.before.values()
        if report.stage in CONTRIBUTING_STAGES
    )


def progress(inputs: RewardInputs, config: RewardConfig) -> float:
    """How much the accuracy rose since the epoch before."""
    return config.progress_weight * inputs.signals.accuracy_delta


def terminal(inputs: RewardInputs, config: RewardConfig) -> float:
    """At the episode's end: the accuracy that the host reached."""
    return config.terminal_weight * inputs.signals.val_accuracy if inputs.is_last else 0.0


def fossilize(inputs: RewardInputs, config: RewardConfig) -> float:
    """For making a seed permanent: by how much its contribution exceeds the floor; negative below."""
    if inputs.op is not LifecycleOp.FOSSILIZE or not inputs.success or inputs.target is None:
        return 0.0
    value = attributed(inputs.target, inputs.signals.val_accuracy)
    return config.fossilize_weight * (value - config.min_fossilize_contribution)


def prune(inputs: RewardInputs, config: RewardConfig) -> float:
    """For taking a seed out: the negative of what it contributed."""
    if inputs.op is not LifecycleOp.PRUNE or not inputs.success or inputs.target is None:
        return 0.0
    return -config.prune_weight * attributed(inputs.target, inputs.signals.val_accuracy)


def scaffold(inputs: RewardInputs, config: RewardConfig) -> float:
    """Credit for seeds that helped one which became permanent now."""
    return inputs.scaffold_credit


PARTS: Mapping[RewardMode, Mapping[str, Part]] = {
    RewardMode.SHAPED: {
        "contribution": contribution,
        "potential": potential_change,
        "fossilize": fossilize,
        "prune": prune,
        "scaffold": scaffold,
        "rent": rent,
        "alpha_shock": shock,
        "op_cost": op_cost,
        "terminal": terminal,
    },
    # A prune pays back what was advanced; another price on it would count the same loss twice.
    RewardMode.ESCROW: {
        "escrow": escrow_payment,
        "potential": potential_change,
        "fossilize": fossilize,
        "scaffold": scaffold,
        "rent": rent,
        "alpha_shock": shock,
        "op_cost": op_cost,
        "terminal": terminal,
    },
    RewardMode.SIMPLIFIED: {"contribution": contribution, "op_cost": op_cost, "terminal": terminal},
    RewardMode.BASIC: {"progress": progress, "rent": rent},
    RewardMode.MINIMAL: {"op_cost": op_cost, "terminal": terminal},
    RewardMode.SPARSE: {"terminal": terminal},
}


def compute_loss_reward(inputs: RewardInputs, config: RewardConfig) -> RewardBreakdown:
    """The reward of one env-step from the change of validation loss (nats per sample), clipped."""
    limit = config.max_loss_delta
    delta = inputs.signals.loss_delta
    # A loss that is no number is the worst change there is.
    fallen = -limit if math.isnan(delta) else max(-limit, min(limit, -delta))
    return summed(
        {
            "loss": config.loss_weight * fallen,
            "rent": rent(inputs, config),
            "alpha_shock": shock(inputs, config),
            "op_cost": op_cost(inputs, config),
        }
    )


def compute_scaffold_hindsight_credit(
    boost: float, improvement: float, delay: int, config: RewardConfig
) -> float:
    """`weight * min(boost, improvement) * discount**delay`, at most `max_scaffold_credit`.

    `boost` is the mean interaction of helper and helped, `improvement` what the helped seed contributes
    when it becomes permanent (both fractions of accuracy), `delay` the epochs since the helper last took
    part. Nothing unless both are above 0.
    """
    shared = min(boost, improvement)
    if shared <= 0.0:
        return 0.0
    credit = config.scaffold_weight * shared * config.scaffold_discount**delay
    return min(credit, config.max_scaffold_credit)


@dataclass(frozen=True, slots=True)
class ScaffoldCredit:
    """Credit of one helper for one seed that it helped."""

    slot_id: str
    seed_id: str
    beneficiary: str
    boost: float
    delay: int
    credit: float


@dataclass(slots=True)
class _Help:
    """How one seed helped a younger one: interactions measured so far, and the last epoch of them."""

    slot_id: str
    total: float = 0.0
    epochs: int = 0
    last_epoch: int = 0


@dataclass(slots=True)
class ScaffoldLedger:
    """Who helped whom in one env. The older seed of two is the helper; in one epoch, the first slot's."""

    _helps: dict[str, dict[str, _Help]] = field(default_factory=dict)

    def record(
        self,
        epoch: int,
        interactions: Mapping[tuple[str, str], float],
        reports: Mapping[str, SeedStateReport],
    ) -> None:
        """Take in an epoch's interactions of two slots each, in the order of slots."""
        for pair, interaction in interactions.items():
            helper, helped = sorted((reports[slot] for slot in pair), key=lambda seed: -seed.epochs_total)
            helpers = self._helps.setdefault(helped.seed_id, {})
            found = helpers.setdefault(helper.seed_id, _Help(helper.slot_id))
            found.total += interaction
            found.epochs += 1
            found.last_epoch = epoch

    def settle(
        self,
        epoch: int,
        before: Mapping[str, SeedStateReport],
        after: Mapping[str, SeedStateReport],
        val_accuracy: float,
        config: RewardConfig,
    ) -> tuple[ScaffoldCredit, ...]:
        """Credits, above 0, for the helpers of every seed that became permanent between two reports.

        A pair is credited once: when the helped seed becomes permanent its helpers are forgotten.
        """
        credits = []
        for slot_id, report in after.items():
            known = before.get(slot_id)
            was_permanent = known is not None and known.stage is SeedStage.FOSSILIZED
            if report.stage is not SeedStage.FOSSILIZED or was_permanent:
                continue
            improvement = attributed(report, val_accuracy)
            for seed_id, found in self._helps.pop(report.seed_id, {}).items():
                boost, delay = found.total / found.epochs, epoch - found.last_epoch
                credit = compute_scaffold_hindsight_credit(boost, improvement, delay, config)
                if credit > 0.0:
                    credits.append(
                        ScaffoldCredit(found.slot_id, seed_id, report.seed_id, boost, delay, credit)
                    )
        return tuple(credits)
