"""Ctrl-C: the run stops with status 130 and goes on later as if nothing had happened."""

from pathlib import Path

import pytest

from esper.leyline.telemetry import TelemetryEvent
from esper.nissa import get_hub
from esper.scripts.train import main
from esper.simic.training.vectorized import train_ppo_vectorized
from tests.esper.records import checkpoint, events, same

TINY = ["ppo", "--task", "cifar_minimal", "--rounds", "3", "--envs", "2", "--episode-length", "3"]
TINY += ["--train-images", "32", "--val-images", "16", "--quiet"]


class PressesCtrlC:
    """An output in whose emit the user presses Ctrl-C, at the n-th event of a type."""

    def __init__(self, event_type: str, count: int) -> None:
        self._event_type, self._left = event_type, count

    def emit(self, event: TelemetryEvent) -> None:
        self._left -= event.event_type.value == self._event_type
        if self._left == 0:
            raise KeyboardInterrupt

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture(scope="module")
def through(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """The folder of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("through")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache_home))
        argv = [*TINY, "--telemetry-dir", str(folder), "--save", str(folder / "p.pt")]
        assert main(argv, train=train_ppo_vectorized) == 0
    return folder


@pytest.mark.parametrize(
    ("event_type", "count", "rounds"),
    [("LAST_ACTION", 2, 0), ("PPO_UPDATE_COMPLETED", 2, 1), ("LAST_ACTION", 16, 2)],
)
def test_an_interrupted_run_goes_on_bit_for_bit(
    through: Path,
    tmp_path: Path,
    event_type: str,
    count: int,
    rounds: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    part = tmp_path / "p.pt"
    with get_hub().attached(PressesCtrlC(event_type, count)):
        assert main([*TINY, "--save", str(part)], train=train_ppo_vectorized) == 130
    assert capsys.readouterr().err == f"interrupted; --resume {part} goes on from the last finished round\n"
    assert checkpoint(part)["extra"]["rounds"] == rounds
    resumed = [*TINY, "--resume", str(part), "--save", str(part), "--telemetry-dir", str(tmp_path / "rest")]
    assert main(resumed, train=train_ppo_vectorized) == 0
    rest, whole = ([e for e in events(f) if e["round"] is not None] for f in (tmp_path / "rest", through))
    assert rest == [event for event in whole if event["round"] >= rounds]
    assert same(checkpoint(part), checkpoint(through / "p.pt"))


def test_without_a_checkpoint_there_is_nothing_to_go_on_from(capsys: pytest.CaptureFixture[str]) -> None:
    with get_hub().attached(PressesCtrlC("RUN_STARTED", 1)):
        assert main(TINY, train=train_ppo_vectorized) == 130
    assert capsys.readouterr().err.strip() == "interrupted"
