"""The tables of the shared contracts agree with each other; event types have one payload each."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    HEAD_NAMES,
    LEGAL_TRANSITIONS,
    STYLE_ALPHA_CURVES,
    STYLE_BLEND_MODES,
    STYLE_NAMES,
    SeedStage,
    SlotConfig,
    head_sizes,
)
from esper.leyline.telemetry import (
    EVENT_TYPE_OF,
    PPOUpdateCompleted,
    TelemetryEvent,
    TelemetryEventType,
    Throughput,
    all_unstable_paths,
    unstable_fields,
)
from esper.scripts.telemetry_doc import telemetry_document


def test_every_stage_has_its_transitions_and_a_seed_can_come_back_to_dormant() -> None:
    assert set(LEGAL_TRANSITIONS) == set(SeedStage)
    reached, frontier = set(), {SeedStage.GERMINATED}
    while frontier:
        reached |= frontier
        frontier = set().union(*(LEGAL_TRANSITIONS[stage] for stage in frontier)) - reached
    assert reached == set(SeedStage)
    assert LEGAL_TRANSITIONS[SeedStage.FOSSILIZED] == frozenset()


def test_head_sizes_follow_the_order_of_the_heads_and_every_style_is_complete() -> None:
    assert tuple(head_sizes(3)) == HEAD_NAMES
    assert head_sizes(5)["slot"] == 5
    assert len(STYLE_NAMES) == len(STYLE_BLEND_MODES) == len(STYLE_ALPHA_CURVES) == head_sizes(3)["style"]
    assert len({(choice.curve, choice.steepness) for choice in ALPHA_CURVE_CHOICES}) == len(
        ALPHA_CURVE_CHOICES
    )


def test_slots_are_refused_where_they_repeat_are_missing_or_unknown() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        SlotConfig(())
    with pytest.raises(ValueError, match="slot names repeat: r0c0, r0c0"):
        SlotConfig(("r0c0", "r0c0"))
    with pytest.raises(ValueError, match="no slot 'r9c9'; the host has r0c0, r0c1, r0c2"):
        SlotConfig().require(["r0c0", "r9c9"])


def test_contracts_load_without_torch() -> None:
    program = "import esper.leyline, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_event_type_has_one_frozen_payload_of_its_name() -> None:
    assert set(EVENT_TYPE_OF.values()) == set(TelemetryEventType)
    for payload, event_type in EVENT_TYPE_OF.items():
        assert payload.__name__.lower() == event_type.value.replace("_", "").lower()
        assert dataclasses.is_dataclass(payload)
        assert payload.__dataclass_params__.frozen


def test_what_cannot_repeat_is_marked() -> None:
    assert unstable_fields(TelemetryEvent) == {"event_id", "timestamp"}
    assert unstable_fields(PPOUpdateCompleted) == {"duration_s"}
    assert unstable_fields(Throughput) == {"env_steps_per_s", "images_per_s", "duration_s", "phase_s"}
    assert all_unstable_paths() == (
        "data.duration_s",
        "data.env_steps_per_s",
        "data.images_per_s",
        "data.phase_s",
        "event_id",
        "timestamp",
    )


def test_every_field_holds_json_values_and_every_type_is_explained() -> None:
    text = telemetry_document()
    for payload, event_type in EVENT_TYPE_OF.items():
        assert f"### {event_type.value}\n\n" in text
        assert payload.__doc__
    assert text.count("| no |") == 2 + sum(len(unstable_fields(payload)) for payload in EVENT_TYPE_OF)


def test_the_document_in_the_repository_is_current() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "telemetry.md"
    assert page.read_text() == telemetry_document()
