"""The factored action: its heads, their tables, and what of it reaches masks, slots and events."""

import pytest

from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    ALPHA_SPEED_NAMES,
    ALPHA_SPEED_STEPS,
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    CAUSAL_HEADS,
    HEAD_INDEX,
    HEAD_NAMES,
    OP_NAMES,
    STYLE_ALPHA_CURVES,
    STYLE_BLEND_MODES,
    STYLE_NAMES,
    TEMPO_EPOCHS,
    TEMPO_NAMES,
    FactoredAction,
    LifecycleOp,
    head_sizes,
)
from tests.esper.simic.conftest import Events, Run, of_type

CHOICES = {
    "slot": ("r0c0", "r0c1", "r0c2"),
    "blueprint": BLUEPRINT_NAMES,
    "style": STYLE_NAMES,
    "tempo": TEMPO_NAMES,
    "alpha_target": tuple(str(value) for value in ALPHA_TARGET_VALUES),
    "alpha_speed": ALPHA_SPEED_NAMES,
    "alpha_curve": tuple(choice.name for choice in ALPHA_CURVE_CHOICES),
    "op": OP_NAMES,
}


@pytest.fixture
def events(run: Run) -> Events:
    found, _ = run(envs=4, episode_length=12, train_images=64)
    return found


def test_every_head_has_as_many_choices_as_its_tables_have_entries() -> None:
    assert tuple(CHOICES) == HEAD_NAMES
    assert head_sizes(3) == {name: len(choices) for name, choices in CHOICES.items()}
    assert len(STYLE_NAMES) == len(STYLE_BLEND_MODES) == len(STYLE_ALPHA_CURVES)
    assert len(TEMPO_NAMES) == len(TEMPO_EPOCHS)
    assert len(ALPHA_SPEED_NAMES) == len(ALPHA_SPEED_STEPS)
    for choices in CHOICES.values():
        assert len(set(choices)) == len(choices)


def test_an_action_is_its_indices_in_the_order_of_heads() -> None:
    action = FactoredAction(*range(len(HEAD_NAMES) - 1), op=LifecycleOp.PRUNE)
    assert [getattr(action, name) for name in HEAD_NAMES] == [*range(len(HEAD_NAMES) - 1), 3]
    assert action.lifecycle_op is LifecycleOp.PRUNE
    assert [HEAD_INDEX[name] for name in HEAD_NAMES] == list(range(len(HEAD_NAMES)))


def test_every_operation_reads_the_operation_and_all_but_waiting_a_slot() -> None:
    assert set(CAUSAL_HEADS) == set(LifecycleOp)
    for op, heads in CAUSAL_HEADS.items():
        assert "op" in heads <= set(HEAD_NAMES)
        assert ("slot" in heads) == (op is not LifecycleOp.WAIT)
    assert set().union(*CAUSAL_HEADS.values()) == set(HEAD_NAMES)


def test_events_tell_exactly_the_choices_that_the_operation_reads(events: Events) -> None:
    operations = set()
    for event in of_type(events, "LAST_ACTION"):
        data = event["data"]
        operations.add(data["operation"])
        assert list(data["heads"]) == [
            name for name in HEAD_NAMES if name in CAUSAL_HEADS[LifecycleOp[data["operation"]]]
        ]
        for name, choice in data["heads"].items():
            assert choice in CHOICES[name]
        assert data["heads"]["op"] == data["operation"]
        assert data["target_slot"] == data["heads"].get("slot") == event["slot"]
    assert len(operations) >= 4


def test_a_germination_grows_what_was_chosen_where_it_was_chosen(events: Events) -> None:
    asked = [e for e in of_type(events, "LAST_ACTION") if e["data"]["operation"] == "GERMINATE"]
    grown = of_type(events, "SEED_GERMINATED")
    assert len(grown) > 3
    place = ("round", "epoch", "env", "slot")
    assert [[e[key] for key in place] for e in grown] == [
        [e[key] for key in place] for e in asked if e["data"]["success"]
    ]
    chosen = [e["data"]["heads"]["blueprint"] for e in asked if e["data"]["success"]]
    assert [e["data"]["blueprint"] for e in grown] == chosen


def test_what_masks_let_through_always_has_an_effect_or_waits_for_a_gate(events: Events) -> None:
    """Only a gate may still refuse; nothing else that is allowed fails."""
    refused = {
        (e["env"], e["epoch"], e["slot"]) for e in of_type(events, "LAST_ACTION") if not e["data"]["success"]
    }
    gated = ("ADVANCE", "FOSSILIZE")
    for event in of_type(events, "LAST_ACTION"):
        if (event["env"], event["epoch"], event["slot"]) in refused:
            assert event["data"]["operation"] in gated
