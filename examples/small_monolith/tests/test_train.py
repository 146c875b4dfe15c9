import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import train


def test_events_have_the_time(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "time", lambda: 12.5)
    train.train(n_envs=2, epochs=1, seed=0, out=tmp_path)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event["kind"] for event in events] == ["epoch", "epoch", "copied", "finished"]
    assert {event["time"] for event in events} == {12.5}
