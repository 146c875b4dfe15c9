"""The hub, its outputs and the way back: nothing lost, exact numbers, nothing foreign."""

import errno
import io
import json
import math
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from rich.console import Console

from esper.leyline.errors import InputError, OutputError
from esper.leyline.telemetry import (
    AnomalyDetected,
    BatchCompleted,
    CounterfactualComputed,
    EpisodeCompleted,
    EpochCompleted,
    Payload,
    PPOUpdateCompleted,
    RoundStarted,
    RunCompleted,
    RunStarted,
    SeedGerminated,
    TelemetryEvent,
    Throughput,
)
from esper.nissa import (
    JsonLinesOutput,
    TelemetryHub,
    event_record,
    make_output,
    outputs,
    parse_event,
    read_events,
)
from esper.nissa.console import ROUND_COLUMNS, ConsoleOutput
from esper.nissa.tensorboard import scalars
from tests.esper.nissa.payloads import events, made

EPOCH = made(EpochCompleted, val_accuracy=0.4, total_params=120)
HOST = made(EpisodeCompleted, best_accuracy=0.5, total_params=120, host_params=100)
SMALL_RUN: list[tuple[Payload, int | None]] = [
    (made(RunStarted, task="cifar_minimal", rounds=1, envs=2, episode_length=1, train_images=5), None),
    (made(RoundStarted), None),
    *((EPOCH, env) for env in (0, 1)),
    *((HOST, env) for env in (0, 1)),
    (made(BatchCompleted, mean_accuracy=0.45, mean_return=1.0, seeds_germinated=2, seeds_pruned=1), None),
    (made(Throughput, env_steps_per_s=1.0), None),
    (made(RunCompleted, env_steps=2, best_accuracy=0.5, duration_s=2.0), None),
]


class Collected:
    """An output that keeps events in memory."""

    def __init__(self) -> None:
        self.events: list[TelemetryEvent] = []
        self.closed = False

    def emit(self, event: TelemetryEvent) -> None:
        self.events.append(event)

    def close(self) -> None:
        self.closed = True


def germinated(number: int) -> TelemetryEvent:
    return TelemetryEvent(
        SeedGerminated(seed_id=str(number), blueprint="norm", params=number, alpha=0.0), env=0, slot="r0c0"
    )


@pytest.mark.parametrize("outputs", [0, 1, 3])
def test_counts_and_order_do_not_depend_on_the_number_of_outputs(outputs: int) -> None:
    hub, collected = TelemetryHub(), [Collected() for _ in range(outputs)]
    with hub.attached(*collected):
        for number in range(2_000):
            hub.emit(germinated(number))
    assert hub.counts == {"SEED_GERMINATED": 2_000}
    for output in collected:
        assert [event.data.seed_id for event in output.events] == [str(number) for number in range(2_000)]


def test_an_output_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    class Broken(Collected):
        def close(self) -> None:
            raise OSError("disk full")

    hub, outputs = TelemetryHub(), [Collected(), Broken(), Collected()]
    with pytest.raises(OSError, match="disk full"), hub.attached(*outputs):
        pass
    assert [output.closed for output in outputs] == [True, False, True]
    hub.emit(germinated(1))
    assert outputs[0].events == []


def test_lines_have_keys_in_a_fixed_order_and_exact_floats(tmp_path: Path) -> None:
    value = 0.1 + 0.2
    output = JsonLinesOutput(tmp_path / "deep" / "folder")
    event = TelemetryEvent(
        AnomalyDetected(
            kind="k", detail="d", values={"b": value, "a": math.nan, "c": -math.inf, "d": 1e-320}
        ),
        round=2,
    )
    output.emit(event)
    output.close()
    [line] = (tmp_path / "deep" / "folder" / "events.jsonl").read_text().splitlines()
    record = json.loads(line, parse_constant=pytest.fail)
    assert list(record) == [
        "event_type",
        "round",
        "epoch",
        "env",
        "slot",
        "severity",
        "data",
        "event_id",
        "timestamp",
    ]
    assert list(record["data"]["values"]) == ["b", "a", "c", "d"]
    assert record["data"]["values"]["b"].hex() == value.hex()
    assert record["data"]["values"]["d"].hex() == (1e-320).hex()
    assert (record["data"]["values"]["a"], record["data"]["values"]["c"]) == ("nan", "-inf")
    assert record == event_record(event)


def test_every_line_is_on_disk_as_soon_as_it_is_emitted(tmp_path: Path) -> None:
    output = JsonLinesOutput(tmp_path)
    for number in range(3):
        output.emit(germinated(number))
        assert len((tmp_path / "events.jsonl").read_text().splitlines()) == number + 1
    output.close()


def test_a_run_that_never_starts_leaves_no_file(tmp_path: Path) -> None:
    JsonLinesOutput(tmp_path / "events").close()
    assert list(tmp_path.iterdir()) == []


def test_events_of_an_earlier_run_are_never_overwritten(tmp_path: Path) -> None:
    first = JsonLinesOutput(tmp_path)
    second = JsonLinesOutput(tmp_path)
    first.emit(germinated(1))
    first.close()
    message = (
        rf"--telemetry-dir {tmp_path}: has the events.jsonl of an earlier run; choose another folder, or "
    )
    with pytest.raises(InputError, match=message):
        JsonLinesOutput(tmp_path)
    with pytest.raises(InputError, match=message):
        second.emit(germinated(2))
    assert [event.data.seed_id for event in read_events(tmp_path / "events.jsonl")] == ["1"]


def test_a_half_written_line_of_a_killed_run_is_not_glued_to_the_next(tmp_path: Path) -> None:
    output = JsonLinesOutput(tmp_path)
    output.emit(germinated(1))
    output.close()
    with (tmp_path / "events.jsonl").open("a") as stream:
        stream.write('{"event_type": "SEED')
    output = JsonLinesOutput(tmp_path, append=True)
    output.emit(germinated(2))
    output.close()
    assert [event.data.seed_id for event in read_events(tmp_path / "events.jsonl")] == ["1", "2"]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--telemetry-dir .*file/sub: events.jsonl cannot be written there"):
        JsonLinesOutput(tmp_path / "file" / "sub").emit(germinated(1))


def test_a_payload_of_anything_but_json_values_is_a_bug() -> None:
    event = TelemetryEvent(AnomalyDetected(kind="k", detail="d", values={"a": object()}))
    with pytest.raises(TypeError, match="a telemetry payload holds a object"):
        event_record(event)


def shown(width: int = 80, **options: Any) -> tuple[io.StringIO, ConsoleOutput]:
    stream = io.StringIO()
    terminal = bool(options.get("progress"))
    return stream, ConsoleOutput(Console(file=stream, width=width, force_terminal=terminal), **options)


def test_a_round_is_a_line_as_it_ends_and_a_run_ends_with_its_sum() -> None:
    stream, console = shown(progress=False)
    for payload, env in SMALL_RUN[:-1]:
        console.emit(TelemetryEvent(payload, round=0, env=env))
    started, columns, round_ = stream.getvalue().splitlines()
    assert started.startswith("cifar_minimal: 2 env(s) x 1 epochs x 1 round(s), 5 training and 0 validation")
    assert columns.split() == [*ROUND_COLUMNS]
    assert round_.split() == ["0", "0.450", "0.500", "+1.00", "2", "0", "1", "-", "1.0"]
    assert len(columns) == len(round_) <= 81
    console.emit(TelemetryEvent(SMALL_RUN[-1][0]))
    console.close()
    last = stream.getvalue().splitlines()[-1]
    assert last == (
        "2 env-steps in 2.0 s; best validation accuracy 0.500; 40 parameters grown in the last round"
    )


def test_on_a_terminal_a_bar_stands_below_and_goes_away() -> None:
    stream, console = shown(120, progress=True)
    for payload, env in SMALL_RUN:
        console.emit(TelemetryEvent(payload, round=0, epoch=1, env=env))
    console.close()
    text = stream.getvalue()
    assert "round 1 of 1" in text
    assert text.rindex(" left ") < text.index("env-steps in 2.0 s")
    assert "0.450" in text


def test_a_long_round_tells_where_it_is_after_half_a_minute_of_silence() -> None:
    now = 0.0
    stream, console = shown(progress=False, clock=lambda: now)
    for seconds, (payload, env) in zip((0.0, 1.0, 2.0, 31.0, 40.0), SMALL_RUN, strict=False):
        now = seconds
        console.emit(TelemetryEvent(payload, round=0, epoch=1, env=env))
    assert stream.getvalue().splitlines()[2:] == ["round 1 of 1: epoch 1 of 1, mean accuracy 0.400"]


def test_an_error_of_the_run_is_not_hidden_by_that_of_closing_its_outputs() -> None:
    class Broken(Collected):
        def close(self) -> None:
            raise OSError("disk full")

    with pytest.raises(InputError, match="first"), TelemetryHub().attached(Broken()):
        raise InputError("first")


def test_an_output_of_another_package_that_cannot_write_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Collected):
        def emit(self, event: TelemetryEvent) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("esper.nissa.outputs._factory", lambda name: lambda folder: Full())
    output = make_output("mine", Path("run"))
    with pytest.raises(OutputError, match=r"--telemetry-outputs mine: cannot be written \(No space"):
        output.emit(germinated(1))


def register(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Make entry points of the outputs' group out of `name="module:attribute"`."""
    found = [EntryPoint(name, value, outputs.GROUP) for name, value in values.items()]

    def entry_points(*, group: str) -> list[EntryPoint]:
        return found if group == "esper.telemetry_outputs" else []

    monkeypatch.setattr(outputs, "entry_points", entry_points)


kept: list["Kept"] = []


class Kept:
    """An output that somebody else wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.events = folder, list[Any]()
        kept.append(self)

    def emit(self, event: Any) -> None:
        self.events.append(event)

    def close(self) -> None:
        pass


def an_event() -> TelemetryEvent:
    return TelemetryEvent(made(SeedGerminated))


def test_an_output_of_another_package_gets_the_folder_and_every_event(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, kept=f"{__name__}:Kept")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Kept.__module__])
    output, event = make_output("kept", tmp_path), an_event()
    output.emit(event)
    output.close()
    assert (kept[-1].folder, kept[-1].events) == (tmp_path, [event])


def test_an_unknown_output_is_one_line_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, kept="somewhere:Kept")
    with pytest.raises(InputError) as caught:
        make_output("wandb", tmp_path)
    assert str(caught.value) == "--telemetry-outputs wandb: no such output; known are tensorboard, kept"


def test_an_output_that_cannot_be_loaded_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch, bad="no_such_module_anywhere:Kept")
    with pytest.raises(
        InputError, match=r"--telemetry-outputs bad: cannot be loaded \(ModuleNotFoundError: "
    ):
        make_output("bad", tmp_path)


def test_without_tensorboard_its_output_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    with pytest.raises(InputError) as caught:
        make_output("tensorboard", tmp_path)
    assert str(caught.value) == (
        "TensorBoard is not installed; pip install tensorboard, or leave that output out"
    )


CONTRIBUTIONS = made(CounterfactualComputed, contributions={"r0c0": 0.5})


def test_numbers_become_curves_over_env_steps_and_rounds() -> None:
    of_env = TelemetryEvent(CONTRIBUTIONS, round=2, epoch=3, env=1)
    assert list(scalars(of_env, 8)) == [("env1/contribution/r0c0", 0.5, 19)]
    metrics = {"entropy": 1.5, "approx_kl": math.nan}
    update = made(PPOUpdateCompleted, metrics=metrics, entropy_coef=0.02)
    found = list(scalars(TelemetryEvent(update, round=4), 8))
    assert found == [("policy/entropy", 1.5, 4), ("policy/entropy_coef", 0.02, 4)]
    assert list(scalars(an_event(), 8)) == []


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    output = make_output("tensorboard", tmp_path / "run")
    output.emit(TelemetryEvent(CONTRIBUTIONS, round=0, epoch=1, env=0))
    output.close()
    found = accumulator.EventAccumulator(str(tmp_path / "run")).Reload()
    assert [(event.step, event.value) for event in found.Scalars("env0/contribution/r0c0")] == [(1, 0.5)]


@given(events())
def test_every_event_comes_back_as_it_was_written(event: TelemetryEvent) -> None:
    text = json.dumps(event_record(event), allow_nan=False)
    assert parse_event(json.loads(text)) == event


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
