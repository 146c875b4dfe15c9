"""The page of a run: self-contained, honest about runs that were cut off, and made by one command."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from esper.leyline.errors import InputError
from esper.leyline.telemetry import RewardSummary, TelemetryEvent
from esper.nissa import JsonLinesOutput, get_hub, read_events
from esper.nissa.report import collect, render_page
from esper.runtime import get_task_spec
from esper.scripts.report import main
from esper.simic.training.config import TrainingConfig
from esper.simic.training.vectorized import train_ppo_vectorized

pytestmark = pytest.mark.xdist_group("report")

NOWHERE = Path("events.jsonl")


def train(folder: Path, **settings: object) -> list[TelemetryEvent]:
    """The events of a tiny run, read back from its file."""
    tiny = {"task": "cifar_minimal", "rounds": 2, "envs": 2, "episode_length": 10, "seed": 3}
    config = TrainingConfig(**(tiny | {"train_images": 64, "val_images": 32} | settings))
    with get_hub().attached(JsonLinesOutput(folder)):
        train_ppo_vectorized(config, get_task_spec(config.task))
    return list(read_events(folder / "events.jsonl"))


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache_home))
        folder = tmp_path_factory.mktemp("run")
        train(folder)
    return folder


@pytest.fixture(scope="module")
def events(run_dir: Path) -> list[TelemetryEvent]:
    return list(read_events(run_dir / "events.jsonl"))


def page_of(events: Sequence[TelemetryEvent]) -> str:
    return render_page(collect(events, NOWHERE))


@pytest.fixture(scope="module")
def page(events: list[TelemetryEvent]) -> str:
    return page_of(events)


def test_the_page_stands_alone(page: str) -> None:
    assert not re.search(r"<(script|link|img|iframe|object)\b|@import|url\((?!#)", page)
    assert not re.search(r'\b(src|href)="(?!#)', page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', page)) <= set(ids)


def test_the_page_shows_every_part_of_the_run(page: str) -> None:
    titles = ("final validation accuracy", "return", "parts of the reward", "share of each operation")
    for title in (*titles, "env 0 in round 1", "env 1 in round 1", "entropy (nats)", "gradient norm before"):
        assert f'aria-label="{title}' in page
    for text in ("complete, 2 rounds", "by blueprint", "Settings that decide the result", "seeds grown"):
        assert text in page


@pytest.mark.slow
def test_legends_stand_in_the_type_of_the_page_and_name_what_is_not_drawn(page: str) -> None:
    """No text of a legend is part of a drawing; a part of the reward that is never paid hides no other."""
    drawn = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.S))
    legends = re.findall(r'<p class="keys">(.*?)</p>', page, flags=re.S)
    words = re.sub("<.*?>", " ", " ".join(legends))
    for name in ("germinate", "mean of up to ten", "worst host", "terminal"):
        assert name in words
        assert name not in re.sub("<[^>]*>", "", drawn)
    assert re.search(r"<dt>time</dt><dd>[\d.]+ (s|min)", page)


def test_a_part_of_the_reward_that_is_never_paid_is_named(events: list[TelemetryEvent]) -> None:
    unpaid = [
        replace(event, data=replace(event.data, components={**event.data.components, "prune": 0.0}))
        if isinstance(event.data, RewardSummary)
        else event
        for event in events
    ]
    assert re.search(r"0 throughout: [\w ,]*prune", re.sub("<.*?>", " ", page_of(unpaid)))


def test_a_run_of_one_round_has_one_number_on_its_axes(events: list[TelemetryEvent]) -> None:
    first = [event for event in events if event.round in (None, 0)]
    plots = re.findall(r"<svg.*?</svg>", page_of(first), flags=re.S)
    by_round = [plot for plot in plots if re.search(r"<text[^>]*>round</text>", plot)]
    assert len(by_round) >= 10
    for plot in by_round:
        axis = plot[plot.index('-matplotlib.axis_1"') : plot.index('-matplotlib.axis_2"')]
        assert re.findall(r"<text[^>]*>([^<]*)</text>", axis) == ["0", "round"]


def test_every_plot_is_well_formed(page: str) -> None:
    plots = re.findall(r"<svg.*?</svg>", page, flags=re.S)
    assert len(plots) >= 12
    for plot in plots:
        element = ElementTree.fromstring(plot)
        assert element.get("viewBox")
        assert not re.search(r"#0[12]0[123]", plot)  # stand-ins for colours that were left


def test_series_are_those_of_the_events(events: list[TelemetryEvent]) -> None:
    run = collect(events, NOWHERE)
    assert [found.index for found in run.finished] == [0, 1]
    fates = run.fates().values()
    grown = [event for event in events if event.event_type == "SEED_GERMINATED"]
    pruned = [event for event in events if event.event_type == "SEED_PRUNED"]
    assert sum(fate.grown for fate in fates) == len(grown) > 0
    assert sum(fate.pruned for fate in fates) == len(pruned)
    for found in run.finished:
        assert found.done is not None
        for env, episode in found.episodes.items():
            assert episode.epochs == list(range(1, 11))
            assert episode.val_accuracy[-1] == found.done.env_accuracies[env]
            for slot in run.started.slots:
                covered = [
                    e for span in episode.spans if span.slot == slot for e in range(span.first, span.last + 1)
                ]
                assert len(covered) == len(set(covered))


def test_a_run_that_was_cut_off_shows_what_there_is(events: list[TelemetryEvent]) -> None:
    ends = [index for index, event in enumerate(events) if event.event_type == "BATCH_COMPLETED"]
    stopped = page_of(events[: ends[0] + 40])
    assert "stopped after 1 of 2 rounds" in stopped
    assert "env 0 in round 1" in stopped
    begun = page_of(events[:1])
    assert "stopped after 0 of 2 rounds" in begun
    assert "No round was finished." in begun


def test_without_single_epochs_the_page_says_how_to_get_them(tmp_path: Path) -> None:
    page = page_of(train(tmp_path / "minimal", rounds=1, episode_length=2, telemetry_level="minimal"))
    assert "a run with --telemetry-level normal or debug tells them" in page
    assert 'aria-label="final validation accuracy' in page


def test_rounds_of_a_resumed_run_take_the_place_of_those_after_the_checkpoint(
    events: list[TelemetryEvent],
) -> None:
    resumed = replace(events[0], data=replace(events[0].data, first_round=1))
    second = [event for event in events if event.round == 1]
    run = collect([*events[:-1], resumed, *second, events[-1]], NOWHERE)
    assert run.rounds == collect(events, NOWHERE).rounds


def test_a_file_without_a_run_is_one_line(events: list[TelemetryEvent]) -> None:
    with pytest.raises(InputError, match=r"events.jsonl: holds no event; the run has not started"):
        collect([], NOWHERE)
    with pytest.raises(InputError, match=r"events.jsonl: does not begin with RUN_STARTED"):
        collect(events[1:], NOWHERE)


def test_the_command_writes_the_page_of_the_run_and_says_where(
    run_dir: Path, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run_dir)]) == 0
    assert capsys.readouterr().out == f"{run_dir / 'report.html'}\n"
    assert (run_dir / "report.html").read_text() == page


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["{tmp}"], "error: {tmp}: has no events.jsonl; give the folder that --telemetry-dir named"),
        (["{run}", "-o", "{tmp}/no/page.html"], "error: {tmp}/no/page.html: cannot be written (No such file"),
        (["{bad}"], "error: {bad}/events.jsonl:1: not JSON; was the file changed?"),
        ([], "error: Missing argument 'RUN_DIR'."),
    ],
)
def test_unusable_input_is_one_line_and_status_2(
    argv: list[str], message: str, run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "events.jsonl").write_text("{\n")
    places = {"tmp": tmp_path, "run": run_dir, "bad": tmp_path / "bad"}
    assert main([part.format(**places) for part in argv]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(message.format(**places))
