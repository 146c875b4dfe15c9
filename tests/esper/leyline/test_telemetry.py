"""Event types: one payload each, and what cannot repeat is marked."""

import dataclasses
from pathlib import Path

from esper.leyline.telemetry import (
    EVENT_TYPE_OF,
    PPOUpdateCompleted,
    SeedGerminated,
    TelemetryEvent,
    TelemetryEventType,
    Throughput,
    all_unstable_paths,
    unstable_fields,
)
from esper.scripts.telemetry_doc import telemetry_document


def test_every_event_type_has_one_frozen_payload_of_its_name() -> None:
    assert set(EVENT_TYPE_OF.values()) == set(TelemetryEventType)
    for payload, event_type in EVENT_TYPE_OF.items():
        assert payload.__name__.lower() == event_type.value.replace("_", "").lower()
        assert dataclasses.is_dataclass(payload)
        assert payload.__dataclass_params__.frozen


def test_an_event_has_the_type_of_its_payload() -> None:
    event = TelemetryEvent(SeedGerminated(seed_id="s", blueprint="norm", params=3, alpha=0.0), env=1)
    assert event.event_type is TelemetryEventType.SEED_GERMINATED


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


def test_two_events_of_one_payload_differ_only_in_identity_and_time() -> None:
    data = SeedGerminated(seed_id="s", blueprint="norm", params=3, alpha=0.0)
    first, second = TelemetryEvent(data), TelemetryEvent(data)
    assert first.event_id != second.event_id
    assert dataclasses.replace(first, event_id="", timestamp="") == dataclasses.replace(
        second, event_id="", timestamp=""
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
