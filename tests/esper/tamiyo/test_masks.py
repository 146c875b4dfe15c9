"""Which choices are legal."""

import pytest
import torch

from esper.leyline import LifecycleOp, SeedStage, SeedStateReport, SlotConfig
from esper.tamiyo import ActionMasks, build_slot_states, compute_action_masks, stack_action_masks
from tests.esper.tamiyo.helpers import report

SLOTS = SlotConfig()


def masks(*reports: SeedStateReport, **options: object) -> ActionMasks:
    states = build_slot_states({item.slot_id: item for item in reports}, SLOTS)
    return compute_action_masks(states, slot_config=SLOTS, **options)


def legal(found: ActionMasks) -> dict[str, tuple[str, ...]]:
    """Legal slots by legal operation, but for waiting."""
    return {
        op.name: tuple(slot for slot, ok in zip(SLOTS.slot_ids, found.slot_by_op[op], strict=True) if ok)
        for op in LifecycleOp
        if op is not LifecycleOp.WAIT and found.heads["op"][op]
    }


@pytest.mark.parametrize(
    ("stage", "changes", "expected"),
    [
        (SeedStage.GERMINATED, {}, {"PRUNE", "ADVANCE"}),
        (SeedStage.TRAINING, {}, {"PRUNE", "ADVANCE"}),
        (SeedStage.TRAINING, {"epochs_total": 0, "epochs_in_stage": 0}, set()),
        (SeedStage.BLENDING, {}, {"PRUNE", "ADVANCE"}),
        (SeedStage.BLENDING, {"alpha_steps_done": 1}, {"PRUNE"}),
        (SeedStage.BLENDING, {"leaving": True}, set()),
        (SeedStage.HOLDING, {}, {"PRUNE", "FOSSILIZE", "SET_ALPHA_TARGET"}),
        (SeedStage.HOLDING, {"contribution": None}, {"PRUNE", "SET_ALPHA_TARGET"}),
        (SeedStage.FOSSILIZED, {}, set()),
        (SeedStage.PRUNED, {}, set()),
        (SeedStage.EMBARGOED, {}, set()),
        (SeedStage.RESETTING, {}, set()),
    ],
)
def test_a_stage_allows_what_can_have_an_effect(
    stage: SeedStage, changes: dict[str, object], expected: set[str]
) -> None:
    found = legal(masks(report("r0c1", stage, **changes)))
    assert found.pop("GERMINATE") == ("r0c0", "r0c2")
    assert found == dict.fromkeys(expected, ("r0c1",))


def test_no_more_seeds_than_allowed_live_at_a_time() -> None:
    held = report("r0c0", SeedStage.FOSSILIZED)
    assert "GERMINATE" not in legal(masks(held, max_seeds=1))
    assert legal(masks(held, max_seeds=2))["GERMINATE"] == ("r0c1", "r0c2")
    assert "GERMINATE" in legal(masks(report("r0c0", SeedStage.EMBARGOED), max_seeds=1))


def test_waiting_is_always_legal_and_every_row_has_a_choice() -> None:
    full = masks(*(report(slot, SeedStage.FOSSILIZED) for slot in SLOTS.slot_ids))
    assert full.heads["op"] == (True, False, False, False, False, False)
    assert all(any(row) for row in full.slot_by_op)


def test_masked_heads_tell_where_a_choice_was_taken_away() -> None:
    hit = masks(report("r0c1", SeedStage.TRAINING)).masked_heads()
    assert {name for name, masked in hit.items() if masked} == {"op", "slot", "blueprint"}


def test_stacked_masks_say_the_same_for_all_environments() -> None:
    each = [masks(), masks(report("r0c1", SeedStage.HOLDING))]
    stacked = stack_action_masks(each)
    assert stacked["slot"].shape == (2, 6, 3)
    for env, mask in enumerate(each):
        assert torch.equal(stacked["slot"][env], torch.tensor(mask.slot_by_op))
        for name, row in mask.heads.items():
            assert stacked[name][env].tolist() == list(row)
