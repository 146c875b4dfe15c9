"""Event files read back into the types they were written from; nothing foreign passes."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from esper.leyline.errors import InputError
from esper.leyline.telemetry import (
    EVENT_TYPE_OF,
    AnomalyDetected,
    RoundStarted,
    SeedGerminated,
    TelemetryEvent,
)
from esper.nissa import JsonLinesOutput, event_record, parse_event, read_events
from tests.esper.nissa.payloads import events


@given(events())
def test_every_event_comes_back_as_it_was_written(event: TelemetryEvent) -> None:
    text = json.dumps(event_record(event), allow_nan=False)
    assert parse_event(json.loads(text)) == event


def test_floats_that_are_no_numbers_come_back(tmp_path: Path) -> None:
    values = {"a": math.inf, "b": -math.inf, "c": math.nan}
    output = JsonLinesOutput(tmp_path)
    output.emit(TelemetryEvent(AnomalyDetected(kind="k", detail="d", values=values)))
    output.close()
    [event] = read_events(tmp_path / "events.jsonl")
    assert isinstance(event.data, AnomalyDetected)
    assert (event.data.values["a"], event.data.values["b"]) == (math.inf, -math.inf)
    assert math.isnan(event.data.values["c"])


def record() -> dict[str, Any]:
    data = SeedGerminated(seed_id="s", blueprint="norm", params=3, alpha=0.0)
    return event_record(TelemetryEvent(data, env=1, slot="r0c0"))


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(lines))
    return path


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    found = record()
    change(found)
    return json.dumps(found) + "\n"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (changed(lambda r: r.update(colour=1)), "SEED_GERMINATED: foreign or missing colour"),
        (changed(lambda r: r.pop("slot")), "SEED_GERMINATED: foreign or missing slot"),
        (changed(lambda r: r.pop("data")), "SEED_GERMINATED.data must be an object, not null"),
        (changed(lambda r: r["data"].update(colour=1)), "SEED_GERMINATED.data: foreign or missing colour"),
        (changed(lambda r: r["data"].pop("params")), "SEED_GERMINATED.data: foreign or missing params"),
        (changed(lambda r: r["data"].update(params=3.5)), "SEED_GERMINATED.data.params does not fit: 3.5"),
        (changed(lambda r: r["data"].update(params=True)), "SEED_GERMINATED.data.params does not fit: true"),
        (changed(lambda r: r["data"].update(alpha=0)), "SEED_GERMINATED.data.alpha does not fit: 0"),
        (changed(lambda r: r["data"].update(alpha="big")), 'SEED_GERMINATED.data.alpha does not fit: "big"'),
        (changed(lambda r: r["data"].update(seed_id=2)), "SEED_GERMINATED.data.seed_id does not fit: 2"),
        (changed(lambda r: r.update(severity="bad")), 'SEED_GERMINATED.severity does not fit: "bad"'),
        (changed(lambda r: r.update(data=[])), "SEED_GERMINATED.data must be an object, not []"),
        (changed(lambda r: r.update(event_type="X")), "unknown event type 'X'; known are RUN_STARTED"),
        ("[]\n", "unknown event type None"),
        ("{\n", "not JSON; was the file changed?"),
        ("\n", "not JSON; was the file changed?"),
    ],
)
def test_what_no_trainer_of_this_version_writes_is_refused_by_its_line(
    tmp_path: Path, line: str, problem: str
) -> None:
    path = written(tmp_path, json.dumps(record()) + "\n", line)
    with pytest.raises(InputError) as caught:
        list(read_events(path))
    assert str(caught.value).startswith(f"{path}:2: {problem}")
    assert "\n" not in str(caught.value)


def test_nested_values_are_named_by_their_place(tmp_path: Path) -> None:
    found = event_record(TelemetryEvent(RoundStarted(env_seeds=(1, 2), entropy_coef=0.1)))
    found["data"]["env_seeds"] = [1, "2"]
    with pytest.raises(InputError, match=r'ROUND_STARTED.data.env_seeds\[1\] does not fit: "2"'):
        list(read_events(written(tmp_path, json.dumps(found) + "\n")))


def test_a_line_that_a_killed_run_left_is_an_error_or_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps(record()) + "\n", '{"event_t')
    with pytest.raises(InputError, match=r":2: cut off; the run that wrote it was stopped"):
        list(read_events(path))
    assert [event.env for event in read_events(path, cut_off_end=True)] == [1]


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none: cannot be read \(No such file or directory\)"):
        list(read_events(tmp_path / "none"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"binary: cannot be read \(not UTF-8 text\)"):
        list(read_events(tmp_path / "binary"))


def test_every_type_can_be_read(tmp_path: Path) -> None:
    assert len(EVENT_TYPE_OF) == 29
