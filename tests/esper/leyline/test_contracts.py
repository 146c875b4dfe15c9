"""The tables of the shared contracts agree with each other."""

import subprocess
import sys

import pytest

from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    CAUSAL_HEADS,
    HEAD_NAMES,
    LEGAL_TRANSITIONS,
    NEXT_STAGE,
    STYLE_ALPHA_CURVES,
    STYLE_BLEND_MODES,
    STYLE_NAMES,
    FactoredAction,
    LifecycleOp,
    SeedStage,
    SlotConfig,
    head_sizes,
    is_legal_transition,
)


def test_every_stage_has_its_transitions_and_a_seed_can_come_back_to_dormant() -> None:
    assert set(LEGAL_TRANSITIONS) == set(SeedStage)
    reached, frontier = set(), {SeedStage.GERMINATED}
    while frontier:
        reached |= frontier
        frontier = set().union(*(LEGAL_TRANSITIONS[stage] for stage in frontier)) - reached
    assert reached == set(SeedStage)
    assert LEGAL_TRANSITIONS[SeedStage.FOSSILIZED] == frozenset()


def test_the_way_forward_is_legal() -> None:
    assert all(is_legal_transition(source, target) for source, target in NEXT_STAGE.items())


def test_head_sizes_follow_the_order_of_the_heads_and_every_style_is_complete() -> None:
    assert tuple(head_sizes(3)) == HEAD_NAMES
    assert head_sizes(5)["slot"] == 5
    assert len(STYLE_NAMES) == len(STYLE_BLEND_MODES) == len(STYLE_ALPHA_CURVES) == head_sizes(3)["style"]
    assert len({(choice.curve, choice.steepness) for choice in ALPHA_CURVE_CHOICES}) == len(
        ALPHA_CURVE_CHOICES
    )


def test_every_operation_reads_known_heads_among_them_its_own() -> None:
    assert set(CAUSAL_HEADS) == set(LifecycleOp)
    for heads in CAUSAL_HEADS.values():
        assert "op" in heads
        assert heads <= set(HEAD_NAMES)


def test_an_action_knows_its_operation() -> None:
    action = FactoredAction(0, 0, 0, 0, 0, 0, 0, op=3)
    assert action.lifecycle_op is LifecycleOp.PRUNE


def test_slots_are_refused_where_they_repeat_are_missing_or_unknown() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        SlotConfig(())
    with pytest.raises(ValueError, match="slot names repeat: r0c0, r0c0"):
        SlotConfig(("r0c0", "r0c0"))
    with pytest.raises(ValueError, match="no slot 'r9c9'; the host has r0c0, r0c1, r0c2"):
        SlotConfig().require(["r0c0", "r9c9"])


def test_required_slots_come_in_the_order_of_the_host() -> None:
    assert SlotConfig().require(["r0c2", "r0c0"]) == ("r0c0", "r0c2")


def test_contracts_load_without_torch() -> None:
    program = "import esper.leyline, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
