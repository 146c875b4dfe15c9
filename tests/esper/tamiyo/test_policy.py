"""The factored distribution, the network, and the rule-based policy."""

import pytest
import torch

from esper.leyline import (
    HEAD_INDEX,
    HEAD_NAMES,
    LifecycleOp,
    SeedStage,
    SlotConfig,
    head_sizes,
)
from esper.tamiyo import (
    HeuristicPolicy,
    build_slot_states,
    choose_actions,
    compute_action_masks,
    create_policy,
    draw_noise,
    evaluate_actions,
    feature_size,
    stack_action_masks,
)
from tests.esper.tamiyo.helpers import report, signals

SLOTS = SlotConfig()
ENVS = 2000


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def masks_of(*reports: object, envs: int = 1) -> dict[str, torch.Tensor]:
    states = build_slot_states({item.slot_id: item for item in reports}, SLOTS)
    return stack_action_masks([compute_action_masks(states, slot_config=SLOTS)] * envs)


def logits_of(envs: int = 1, seed: int = 0) -> dict[str, torch.Tensor]:
    sizes = head_sizes(3)
    made = {name: torch.randn(size, generator=generator(seed)) for name, size in sizes.items()}
    made["slot"] = torch.randn(len(LifecycleOp), 3, generator=generator(seed))
    return {name: row.expand(envs, *row.shape) for name, row in made.items()}


def test_samples_are_legal_and_follow_the_probabilities() -> None:
    seeds = [report("r0c0", SeedStage.TRAINING), report("r0c2", SeedStage.HOLDING)]
    masks, logits = masks_of(*seeds, envs=ENVS), logits_of(ENVS)
    noise = draw_noise([generator(seed) for seed in range(ENVS)], 3)
    actions = choose_actions(logits, masks, noise)
    chosen = actions[:, HEAD_INDEX["op"]]
    assert masks["op"].gather(1, chosen[:, None]).all()
    slots = masks["slot"][torch.arange(ENVS), chosen]
    assert slots.gather(1, actions[:, [HEAD_INDEX["slot"]]]).all()
    expected = torch.softmax(logits["op"][0].masked_fill(~masks["op"][0], -1e9), dim=0)
    found = torch.bincount(chosen, minlength=len(LifecycleOp)) / ENVS
    assert (found - expected).abs().max() < 0.05


def test_without_noise_the_most_likely_legal_choice_is_taken() -> None:
    masks, logits = masks_of(), logits_of()
    action = choose_actions(logits, masks, None)[0]
    op = logits["op"][0].masked_fill(~masks["op"][0], -1e9).argmax()
    assert action[HEAD_INDEX["op"]] == op
    assert action[HEAD_INDEX["slot"]] == logits["slot"][0, op].argmax()


def test_log_probabilities_are_of_the_masked_distribution_and_entropies_finite() -> None:
    masks, logits = masks_of(report("r0c1", SeedStage.TRAINING)), logits_of()
    per_op = []
    for op in range(len(LifecycleOp)):
        action = torch.zeros(1, len(HEAD_NAMES), dtype=torch.int64)
        action[0, HEAD_INDEX["op"]] = op
        found = evaluate_actions(logits, masks, action)
        assert found.entropies.isfinite().all()
        per_op.append(found.log_probs[0, HEAD_INDEX["op"]].exp().item())
    assert sum(per_op) == pytest.approx(1.0, abs=1e-5)
    legal = masks["op"][0].tolist()
    assert [value > 0 for value in per_op] == legal


def test_a_policy_follows_from_its_generator_and_starts_nearly_uniform_but_slow_to_prune() -> None:
    untouched = torch.get_rng_state()
    first, second, other = (create_policy(feature_size(SLOTS), 3, 16, generator(seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), untouched)
    flat = [torch.cat([p.flatten() for p in policy.parameters()]) for policy in (first, second, other)]
    assert torch.equal(flat[0], flat[1])
    assert not torch.equal(flat[0], flat[2])
    features = torch.randn(4, 1, feature_size(SLOTS), generator=generator())
    output = first(features, first.initial_hidden(4))
    assert all(head.abs().max() < 0.2 for name, head in output.logits.items() if name != "op")
    assert output.logits["op"].argmin(dim=-1).unique().tolist() == [LifecycleOp.PRUNE]


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([], (LifecycleOp.GERMINATE, 2)),
        ([report("r0c1", SeedStage.TRAINING)], (LifecycleOp.ADVANCE, 1)),
        ([report("r0c1", SeedStage.HOLDING)], (LifecycleOp.FOSSILIZE, 1)),
        ([report("r0c1", SeedStage.HOLDING, contribution=-0.1, epochs_in_stage=3)], (LifecycleOp.PRUNE, 1)),
        ([report(slot, SeedStage.FOSSILIZED) for slot in SLOTS.slot_ids], (LifecycleOp.WAIT, 0)),
    ],
)
def test_the_rule_based_policy_keeps_what_helps(
    reports: list[object], expected: tuple[LifecycleOp, int]
) -> None:
    by_slot = {item.slot_id: item for item in reports}
    masks = compute_action_masks(build_slot_states(by_slot, SLOTS), slot_config=SLOTS)
    action = HeuristicPolicy(SLOTS).decide(signals(0.3, 0.4), by_slot, masks)
    assert (action.lifecycle_op, action.slot) == expected


@pytest.mark.parametrize(("episode", "expected"), [(9, LifecycleOp.GERMINATE), (8, LifecycleOp.WAIT)])
def test_the_rule_based_policy_grows_nothing_that_it_could_not_keep(
    episode: int, expected: LifecycleOp
) -> None:
    masks = compute_action_masks(build_slot_states({}, SLOTS), slot_config=SLOTS)
    now = signals(0.3, 0.4, max_epochs=episode)
    assert HeuristicPolicy(SLOTS).decide(now, {}, masks).lifecycle_op is expected
