"""What rewards were divided by goes into the checkpoint and comes back out of it."""

from pathlib import Path

from esper.simic.control import RewardNormalizer
from tests.esper.simic.conftest import Events, Run, of_type


def rewards(events: Events) -> list[tuple[float, float]]:
    """Raw and normalised, in order."""
    actions = [event["data"] for event in of_type(events, "LAST_ACTION")]
    return [(action["reward"], action["normalised_reward"]) for action in actions]


def test_a_resumed_run_divides_by_what_the_first_part_saw(run: Run, tmp_path: Path) -> None:
    first, _ = run(episode_length=4, save=tmp_path / "part.pt")
    second, _ = run(episode_length=4, rounds=2, resume=tmp_path / "part.pt")
    expected = RewardNormalizer()
    # A round is divided by what the rounds before it saw.
    assert rewards(first) == [(raw, expected.normalize(raw)) for raw, _ in rewards(first)]
    expected.update([raw for raw, _ in rewards(first)])
    assert rewards(second) == [(raw, expected.normalize(raw)) for raw, _ in rewards(second)]
    assert rewards(second) != [(raw, raw) for raw, _ in rewards(second)]
