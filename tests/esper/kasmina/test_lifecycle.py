"""A seed's life, driven through the model as the training loop drives it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esper.kasmina import MorphogeneticModel
from esper.leyline import AlphaCurve, SeedStage, is_legal_transition
from esper.leyline.telemetry import (
    SeedFossilized,
    SeedGateEvaluated,
    SeedGerminated,
    SeedPruned,
    SeedStageChanged,
)
from tests.esper.kasmina.helpers import Log, ModelFactory, env_step, germinate, grow_to_holding, new_model


def stages(log: Log) -> list[str]:
    return [payload.to_stage for payload in log.of(SeedStageChanged)]


def test_a_seed_lives_from_germination_to_fossil(model: MorphogeneticModel, log: Log) -> None:
    grow_to_holding(model)
    env_step(model, lambda: model.slot("r0c1").fossilize())
    assert stages(log) == ["TRAINING", "BLENDING", "HOLDING", "FOSSILIZED"]
    (fossil,) = log.of(SeedFossilized)
    assert fossil.contribution == 0.02
    assert fossil.accuracy_gain == pytest.approx(0.1)
    assert (model.germinated, model.fossilized, model.pruned) == (1, 1, 0)
    assert not model.slot("r0c1").prune("too late")


def test_stages_change_once_per_step_and_the_action_comes_before_the_tick(model: MorphogeneticModel) -> None:
    model.record_epoch(0.4, {})
    germinate(model)
    model.step_epoch()
    assert model.slot("r0c1").stage is SeedStage.GERMINATED
    model.record_epoch(0.4, {})
    assert model.slot("r0c1").advance()
    assert not model.slot("r0c1").advance()
    model.step_epoch()
    assert model.slot("r0c1").stage is SeedStage.TRAINING


def test_alpha_rises_from_the_first_blending_epoch_to_its_target(model: MorphogeneticModel) -> None:
    germinate(model, tempo=3, target=0.7)
    model.step_epoch()
    env_step(model)
    seen = []
    env_step(model, lambda: model.slot("r0c1").advance())
    for _ in range(3):
        seen.append((model.slot("r0c1").stage.name, round(model.slot("r0c1").alpha, 4)))
        env_step(model)
    assert seen == [("BLENDING", 0.2333), ("BLENDING", 0.4667), ("BLENDING", 0.7)]
    assert model.slot("r0c1").stage is SeedStage.HOLDING


def test_a_pruned_slot_cools_down_and_opens_again_and_remembers_the_reason(
    make_model: ModelFactory, log: Log
) -> None:
    model = make_model(embargo_epochs=2)
    grow_to_holding(model)
    env_step(model, lambda: model.slot("r0c1").prune("it hurts"))
    assert model.slot_reports()["r0c1"].prune_reason == "it hurts"
    assert model.live_slots() == ()
    assert not germinate(model)
    seen = []
    while model.slot("r0c1").stage is not SeedStage.DORMANT:
        seen.append(model.slot("r0c1").stage.name)
        assert model.slot_reports()["r0c1"].prune_reason == "it hurts"
        env_step(model)
    assert seen == ["PRUNED", "EMBARGOED", "EMBARGOED", "RESETTING"]
    (event,) = log.of(SeedPruned)
    assert (event.reason, event.initiator) == ("it hurts", "policy")
    assert germinate(model)
    assert [payload.seed_id for payload in log.of(SeedGerminated)] == ["r0c1-1", "r0c1-2"]


def test_a_slow_prune_lets_alpha_fall_along_its_curve_first(model: MorphogeneticModel, log: Log) -> None:
    grow_to_holding(model)
    env_step(
        model, lambda: model.slot("r0c1").prune("slowly", steps=3, curve=AlphaCurve.SIGMOID, steepness=24.0)
    )
    report = model.slot_reports()["r0c1"]
    assert (report.leaving, report.alpha_steepness, report.stage) == (True, 24.0, SeedStage.BLENDING)
    assert 0.9 < report.alpha < 1.0
    env_step(model)
    assert 0.0 < model.slot("r0c1").alpha < 0.1
    assert log.of(SeedPruned) == []
    env_step(model)
    assert model.slot("r0c1").stage is SeedStage.PRUNED
    assert log.of(SeedPruned)[0].reason == "slowly"


def test_a_leaving_seed_can_still_be_pruned_at_once(model: MorphogeneticModel) -> None:
    grow_to_holding(model)
    env_step(model, lambda: model.slot("r0c1").prune("slowly", steps=5))
    env_step(model, lambda: model.slot("r0c1").prune("now"))
    assert model.slot_reports()["r0c1"].prune_reason == "now"


def test_retargeting_moves_a_held_seed_and_brings_it_back(model: MorphogeneticModel) -> None:
    grow_to_holding(model)
    env_step(model, lambda: model.slot("r0c1").retarget(0.5, steps=2, curve=AlphaCurve.LINEAR))
    assert (model.slot("r0c1").stage, model.slot("r0c1").alpha) == (SeedStage.BLENDING, 0.75)
    env_step(model)
    env_step(model)
    assert (model.slot("r0c1").stage, model.slot("r0c1").alpha) == (SeedStage.HOLDING, 0.5)
    assert not model.slot("r0c1").retarget(0.5, steps=2, curve=AlphaCurve.LINEAR)
    assert model.slot("r0c1").retarget(1.0, steps=0, curve=AlphaCurve.LINEAR)
    assert (model.slot("r0c1").stage, model.slot("r0c1").alpha) == (SeedStage.HOLDING, 1.0)


def test_a_gate_says_what_it_misses(strict_model: MorphogeneticModel, log: Log) -> None:
    germinate(strict_model)
    strict_model.step_epoch()
    env_step(strict_model)
    strict_model.record_epoch(0.1, {})
    assert not strict_model.slot("r0c1").advance()
    refused = log.of(SeedGateEvaluated)[-1]
    assert (refused.gate, refused.passed, refused.score) == ("G2", False, 0.0)
    assert refused.failed == ("training_epochs", "host_not_worse")


def test_under_strict_gates_a_fossil_needs_time_and_a_good_contribution(
    strict_model: MorphogeneticModel, log: Log
) -> None:
    model = strict_model
    germinate(model)
    model.step_epoch()
    for _ in range(4):
        env_step(model)
    env_step(model, lambda: model.slot("r0c1").advance())
    while model.slot("r0c1").stage is not SeedStage.HOLDING:
        env_step(model)
    model.record_epoch(0.5, {"r0c1": 0.001})
    assert not model.slot("r0c1").fossilize()
    assert log.of(SeedGateEvaluated)[-1].failed == ("holding_epochs", "contribution")
    model.record_epoch(0.5, {"r0c1": 0.05})
    assert model.slot("r0c1").fossilize()


def test_only_enabled_slots_grow(make_model: ModelFactory) -> None:
    model = make_model(enabled_slots=["r0c2"])
    assert not germinate(model, "r0c0")
    assert germinate(model, "r0c2")
    with pytest.raises(ValueError, match="no slot 'r7c7'"):
        model.slot("r7c7").advance()


OPERATIONS = ("wait", "germinate", "advance", "fossilize", "prune", "slow prune", "retarget", "rollback")


@settings(max_examples=40)
@given(operations=st.lists(st.sampled_from(OPERATIONS), max_size=25))
def test_whatever_is_asked_only_legal_transitions_happen_one_per_step(operations: list[str]) -> None:
    log = Log()
    model = new_model(log, embargo_epochs=1)
    for operation in operations:
        before = len(log.of(SeedStageChanged))
        model.record_epoch(0.5, dict.fromkeys(model.contributing_slots(), 0.1))
        match operation:
            case "germinate":
                germinate(model, blueprint="norm")
            case "advance":
                model.slot("r0c1").advance()
            case "fossilize":
                model.slot("r0c1").fossilize()
            case "prune":
                model.slot("r0c1").prune("asked")
            case "slow prune":
                model.slot("r0c1").prune("asked", steps=2)
            case "retarget":
                model.slot("r0c1").retarget(0.5, steps=1, curve=AlphaCurve.LINEAR)
            case "rollback":
                model.restore(model.snapshot(), "asked")
        model.step_epoch()
        assert len(log.of(SeedStageChanged)) - before <= 1
        assert model.slot("r0c1").is_live == (model.seed_parameters("r0c1") != [])
    for change in log.of(SeedStageChanged):
        assert is_legal_transition(SeedStage[change.from_stage], SeedStage[change.to_stage])
    live = model.germinated - model.pruned
    assert live in (0, 1)
