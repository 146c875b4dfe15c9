"""Features, masks and policy for one to six slots and both kinds of host, on models that really grow."""

import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from esper.kasmina import MorphogeneticModel, create_host, create_text_host
from esper.leyline import (
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    HEAD_INDEX,
    HEAD_NAMES,
    TOPOLOGY_BLUEPRINTS,
    FactoredAction,
    LifecycleOp,
    SlotConfig,
    Topology,
    head_sizes,
)
from esper.leyline.rollout import SlotAction
from esper.runtime import get_task_spec
from esper.tamiyo import (
    ActionMasks,
    HeuristicPolicy,
    batch_obs_to_features,
    build_slot_states,
    choose_actions,
    compute_action_masks,
    create_policy,
    draw_noise,
    feature_size,
    stack_action_masks,
)
from esper.tolaria.hosts import execute_action
from tests.esper.tamiyo.helpers import signals

TOPOLOGIES: tuple[Topology, ...] = ("cnn", "transformer")


def new_model(slots: int, topology: Topology) -> MorphogeneticModel:
    generator = torch.Generator().manual_seed(1)
    config = SlotConfig(tuple(f"r0c{index}" for index in range(slots)), topology)
    if topology == "transformer":
        host = create_text_host(
            [16] * slots, alphabet=9, context_length=4, generator=generator, slot_config=config
        )
    else:
        halved = [index < 2 for index in range(slots)]
        host = create_host(
            [4] * slots, num_classes=10, generator=generator, slot_config=config, halved=halved
        )
    return MorphogeneticModel(host, config, generator, embargo_epochs=1)


def masks_of(model: MorphogeneticModel) -> ActionMasks:
    config = model.slot_config
    return compute_action_masks(build_slot_states(model.slot_reports(), config), slot_config=config)


def execute(model: MorphogeneticModel, action: FactoredAction) -> bool:
    op = action.lifecycle_op
    slot = None if op is LifecycleOp.WAIT else model.slot_config.slot_ids[action.slot]
    host: Any = SimpleNamespace(model=model, val_accuracy=0.5, seed_optimizers={})
    # Asking for the alpha that is there is the one legal choice without an effect.
    there = slot and ALPHA_TARGET_VALUES[action.alpha_target] == model.slot(slot).alpha
    done = execute_action(host, SlotAction(op, slot, action), task_spec=get_task_spec("cifar_minimal"))
    return done or bool(op is LifecycleOp.SET_ALPHA_TARGET and there)


@settings(max_examples=40)
@given(slots=st.integers(1, 6), topology=st.sampled_from(TOPOLOGIES), seed=st.integers(0, 10_000))
def test_every_legal_action_has_its_effect_and_every_state_can_be_seen(
    slots: int, topology: Topology, seed: int
) -> None:
    model, pick = new_model(slots, topology), random.Random(seed)
    config = model.slot_config
    for _ in range(20):
        model.record_epoch(0.5, dict.fromkeys(model.contributing_slots(), 0.1))
        masks = masks_of(model)
        seen = batch_obs_to_features([signals(0.5)], [model.slot_reports()], config, host_params=100)
        assert seen.shape == (1, feature_size(config))
        assert seen.isfinite().all()
        assert seen.abs().max() <= 10.0
        op = pick.choice([op for op in LifecycleOp if masks.heads["op"][op]])
        chosen = {
            name: pick.choice([index for index, legal in enumerate(mask) if legal])
            for name, mask in {**masks.heads, "slot": masks.slot_by_op[op]}.items()
        }
        assert execute(model, FactoredAction(**(chosen | {"op": op}))), (op, chosen)
        model.step_epoch()


@settings(max_examples=20)
@given(slots=st.integers(1, 6), topology=st.sampled_from(TOPOLOGIES), seed=st.integers(0, 10_000))
def test_the_policy_chooses_among_what_fits_the_host(slots: int, topology: Topology, seed: int) -> None:
    model = new_model(slots, topology)
    config = model.slot_config
    policy = create_policy(feature_size(config), slots, 8, torch.Generator().manual_seed(seed))
    features = batch_obs_to_features([signals(0.5)] * 32, [{}] * 32, config, host_params=100)
    output = policy(features[:, None], policy.initial_hidden(32))
    masks = stack_action_masks([masks_of(model)] * 32)
    generators = [torch.Generator().manual_seed(seed + env) for env in range(32)]
    logits = {name: head[:, 0] for name, head in output.logits.items()}
    assert logits["slot"].shape == (32, len(LifecycleOp), slots)
    actions = choose_actions(logits, masks, draw_noise(generators, slots))
    names = [BLUEPRINT_NAMES[index] for index in actions[:, HEAD_INDEX["blueprint"]]]
    assert set(names) <= set(TOPOLOGY_BLUEPRINTS[topology])
    for name, size in head_sizes(slots).items():
        assert actions[:, HEAD_NAMES.index(name)].max() < size


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("slots", [1, 6])
def test_the_rules_grow_every_kind_of_host(slots: int, topology: Topology) -> None:
    model = new_model(slots, topology)
    policy = HeuristicPolicy(model.slot_config)
    for _ in range(60):
        model.record_epoch(0.5, dict.fromkeys(model.contributing_slots(), 0.1))
        action = policy.decide(signals(0.4, 0.5), model.slot_reports(), masks_of(model))
        assert execute(model, action)
        model.step_epoch()
    assert model.fossilized == slots
