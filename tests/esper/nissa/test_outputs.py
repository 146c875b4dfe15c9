"""The hub and its outputs: nothing lost, exact numbers, nothing written for a run that never started."""

import errno
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from esper.leyline.errors import InputError, OutputError
from esper.leyline.telemetry import (
    AnomalyDetected,
    BatchCompleted,
    EpisodeCompleted,
    EpochCompleted,
    Payload,
    RoundStarted,
    RunCompleted,
    RunStarted,
    SeedGerminated,
    TelemetryEvent,
    Throughput,
)
from esper.nissa import JsonLinesOutput, TelemetryHub, event_record, get_hub, read_events
from esper.nissa.console import ROUND_COLUMNS, ConsoleOutput, env_table, round_table
from esper.nissa.outputs import make_output
from esper.nissa.run import RunData, collect
from tests.esper.limits import file_size_limit


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


def test_outputs_are_closed_and_detached_also_when_the_run_fails() -> None:
    hub, output = TelemetryHub(), Collected()
    with pytest.raises(RuntimeError), hub.attached(output):
        raise RuntimeError
    hub.emit(germinated(1))
    assert output.closed
    assert output.events == []


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


def test_there_is_one_hub() -> None:
    assert get_hub() is get_hub()


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


def test_a_resumed_run_adds_to_the_events_of_the_run_it_goes_on_from(tmp_path: Path) -> None:
    for number in (1, 2):
        output = JsonLinesOutput(tmp_path, append=True)
        output.emit(germinated(number))
        output.close()
    assert [event.data.seed_id for event in read_events(tmp_path / "events.jsonl")] == ["1", "2"]


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


def test_the_console_ends_with_a_table_of_rounds() -> None:
    stream = io.StringIO()
    console = ConsoleOutput(Console(file=stream, width=120), progress=False)
    for payload, env in _small_run():
        console.emit(TelemetryEvent(payload, round=0, env=env))
    console.close()
    text = stream.getvalue()
    assert "cifar_minimal: 2 env(s) x 1 epochs x 1 round(s)" in text
    assert "0.450" in text
    assert "best validation accuracy 0.500" in text
    assert "40 parameters grown" in text


def test_the_live_display_shows_envs_with_their_seeds_and_goes_away() -> None:
    stream = io.StringIO()
    console = ConsoleOutput(Console(file=stream, width=120, force_terminal=True))
    run = _small_run()
    for payload, env in run[:2]:
        console.emit(TelemetryEvent(payload, round=0, env=env))
    console.emit(
        TelemetryEvent(
            SeedGerminated(seed_id="s", blueprint="norm", params=3, alpha=0.0), round=0, env=0, slot="r0c0"
        )
    )
    for payload, env in run[2:]:
        console.emit(TelemetryEvent(payload, round=0, epoch=1, env=env))
    console.close()
    text = stream.getvalue()
    for shown in ("round 1 of 1", "env-steps/s", "accuracy", "left", "training norm"):
        assert shown in text
    assert text.rindex("training norm") < text.index("Rounds")


def test_without_a_display_a_round_is_a_line_as_it_ends() -> None:
    stream = io.StringIO()
    console = ConsoleOutput(Console(file=stream, width=80), progress=False)
    for payload, env in _small_run()[:-1]:
        console.emit(TelemetryEvent(payload, round=0, env=env))
    lines = stream.getvalue().splitlines()
    console.close()
    assert lines[1].split() == [*ROUND_COLUMNS]
    assert lines[2].split() == ["0", "0.450", "0.500", "+1.00", "2", "2", "0", "-", "1.0"]
    assert all(len(line) <= 81 for line in lines[1:])
    assert stream.getvalue().splitlines() == lines


def test_a_long_round_tells_where_it_is_after_half_a_minute_of_silence() -> None:
    stream, now = io.StringIO(), 0.0
    console = ConsoleOutput(Console(file=stream, width=80), progress=False, clock=lambda: now)
    run = _small_run()
    for seconds, (payload, env) in zip((0.0, 1.0, 2.0, 31.0, 40.0), run, strict=False):
        now = seconds
        console.emit(TelemetryEvent(payload, round=0, epoch=1, env=env))
    lines = stream.getvalue().splitlines()[2:]
    assert lines == ["round 1 of 1: epoch 1 of 1, mean accuracy 0.400"]


def test_a_stopped_run_leaves_the_table_of_its_rounds() -> None:
    stream = io.StringIO()
    console = ConsoleOutput(Console(file=stream, width=120, force_terminal=True))
    for payload, env in _small_run()[:-1]:
        console.emit(TelemetryEvent(payload, round=0, env=env))
    console.close()
    assert "0.450" in stream.getvalue()[stream.getvalue().index("Rounds") :]


def test_the_best_of_the_table_is_that_of_the_summary() -> None:
    run = collect((TelemetryEvent(payload, round=0, env=env) for payload, env in _small_run()), Path())
    assert run.completed is not None
    assert run.rounds[0].best == run.completed.best_accuracy == 0.5


def test_displays_fit_80_columns_with_six_slots_and_every_stage() -> None:
    slots = tuple(f"r0c{index}" for index in range(6))
    events = _small_run()
    run = RunData(replace(events[0][0], slots=slots))
    stages = ["GERMINATED", "TRAINING", "BLENDING", "HOLDING", "FOSSILIZED", "PRUNED"]
    for env in range(12):
        epoch = replace(events[2][0], seeds=dict(zip(slots, stages, strict=True)), total_params=1_234_567)
        run.add(TelemetryEvent(epoch, round=1000, epoch=250, env=env))
        host = run.rounds[1000].episodes[env]
        host.reward, host.last_op = -123.45, "SET_ALPHA_TARGET"
    for payload, _ in events[-3:-1]:
        if isinstance(payload, BatchCompleted):
            payload = replace(payload, mean_return=-1234.56, seeds_germinated=1000, seeds_pruned=1000)
        if isinstance(payload, Throughput):
            payload = replace(payload, env_steps_per_s=1234.5)
        run.add(TelemetryEvent(payload, round=1000))
    for table in (env_table(run, 80), round_table(run)):
        console = Console(file=io.StringIO(), width=80, record=True)
        console.print(table)
        text = console.export_text()
        assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
        assert "…" not in text
    assert "-1234.56" in text


@pytest.mark.parametrize("progress", [False, True])
def test_a_console_that_is_full_is_one_line(progress: bool) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    console = ConsoleOutput(Console(file=Full(), width=80), progress=progress)
    with pytest.raises(OutputError, match=r"standard output: cannot be written any more \(No space"):
        console.emit(TelemetryEvent(_small_run()[0][0]))


def test_an_error_of_the_run_is_not_hidden_by_that_of_closing_its_outputs() -> None:
    class Broken(Collected):
        def close(self) -> None:
            raise OSError("disk full")

    with pytest.raises(InputError, match="first"), TelemetryHub().attached(Broken()):
        raise InputError("first")


def test_a_disk_that_fills_up_is_one_line_and_the_events_before_are_there(tmp_path: Path) -> None:
    output = JsonLinesOutput(tmp_path)

    def emit_many() -> None:
        for number in range(1_000):
            output.emit(germinated(number))

    with file_size_limit(5_000):
        with pytest.raises(OutputError, match=f"--telemetry-dir {tmp_path}: events.jsonl cannot be written"):
            emit_many()
        with pytest.raises(OutputError, match="cannot be written any more"):
            output.close()
    whole = (tmp_path / "events.jsonl").read_text().rpartition("\n")[0].splitlines()
    assert [json.loads(line)["data"]["seed_id"] for line in whole] == [str(n) for n in range(len(whole))]
    assert len(whole) > 5


def test_an_output_of_another_package_that_cannot_write_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Collected):
        def emit(self, event: TelemetryEvent) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("esper.nissa.outputs._factory", lambda name: lambda folder: Full())
    output = make_output("mine", Path("run"))
    with pytest.raises(OutputError, match=r"--telemetry-outputs mine: cannot be written \(No space"):
        output.emit(germinated(1))


def test_a_display_of_many_envs_stays_short() -> None:
    events = _small_run()
    run = RunData(events[0][0])
    for env in range(100):
        run.add(TelemetryEvent(events[2][0], round=0, epoch=1, env=env))
    console = Console(file=io.StringIO(), width=120, record=True)
    console.print(env_table(run, console.width))
    lines = console.export_text().splitlines()
    assert len(lines) < 12
    assert "and 92 more" in lines[-1]


def _small_run() -> list[tuple[Payload, int | None]]:
    run = RunStarted(
        task="cifar_minimal",
        seed=0,
        first_round=0,
        rounds=1,
        envs=2,
        episode_length=1,
        slots=("r0c0",),
        host_params=100,
        policy_params=10,
        train_images=5,
        val_images=5,
        device="cpu",
        config={},
    )
    epoch = EpochCompleted(
        train_loss=1.0,
        train_accuracy=0.1,
        val_loss=1.0,
        val_accuracy=0.4,
        train_samples=5,
        val_samples=5,
        seeds={"r0c0": "TRAINING"},
        total_params=120,
    )
    episode = EpisodeCompleted(
        final_accuracy=0.4,
        best_accuracy=0.5,
        episode_return=1.0,
        germinated=1,
        fossilized=1,
        pruned=0,
        rollbacks=0,
        total_params=120,
        host_params=100,
    )
    batch = BatchCompleted(
        env_accuracies=(0.4, 0.5),
        mean_accuracy=0.45,
        rolling_accuracy=0.45,
        mean_return=1.0,
        env_steps=2,
        seeds_germinated=2,
        seeds_fossilized=2,
        seeds_pruned=0,
    )
    throughput = Throughput(
        env_steps=2, images=20, env_steps_per_s=1.0, images_per_s=10.0, duration_s=2.0, phase_s={}
    )
    done = RunCompleted(rounds=1, env_steps=2, best_accuracy=0.5, final_accuracy=0.45, duration_s=2.0)
    return [
        (run, None),
        (RoundStarted(env_seeds=(1, 2), entropy_coef=0.1), None),
        (epoch, 0),
        (epoch, 1),
        (episode, 0),
        (episode, 1),
        (batch, None),
        (throughput, None),
        (done, None),
    ]
