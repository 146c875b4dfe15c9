"""Ten planted changes whose first sign is an event, long before the next optimizer step."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from golden.compare.lines import Line, locate_line, noise, read_lines
from golden.record.event_lines import EventLines
from golden.record.lines import LineLog
from golden.trace.events import moments
from tests.golden.project import Project

# Eight epochs of events, then one update that learns from them. Nothing is flushed.
TRAIN = """
import json, sys, time
from pathlib import Path
import torch
from torch import nn
from torch.nn import functional as F

class Host:
    def __init__(self, gain):
        self.gain = gain
        self.cooldown = 0
        self.stage = "training"

def accuracy(logits, labels):
    return (logits.argmax(1) == labels).float().mean().item()

def divergence(p, q):
    return F.kl_div(q.log_softmax(1), p.log_softmax(1), log_target=True, reduction="batchmean").item()

def move(host, epoch, score):
    if host.cooldown:
        host.cooldown -= 1
        return None
    if score < 0.62 and epoch > 1:
        host.stage = "pruned"
        host.cooldown = 5
        return {"type": "pruned", "epoch": epoch, "reason": "low score", "cooldown": host.cooldown}
    return None

def main(epochs=8):
    torch.manual_seed(0)
    policy = nn.Linear(6, 2)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    train, held = torch.randn(32, 6), torch.randn(16, 6)
    train_y, held_y = torch.randint(2, (32,)), torch.randint(2, (16,))
    log = (Path(sys.argv[1]) / "events.jsonl").open("w")
    best, rewards, total = 0.0, [], 0
    for update in range(2):
        hosts = [Host(1.0), Host(1.5)]
        for epoch in range(epochs):
            for env, host in enumerate(hosts):
                with torch.no_grad():
                    logits = policy(held) * host.gain + 0.1 * epoch
                    score = accuracy(logits, held_y)
                    kl = divergence(logits, logits.roll(1, 0))
                    loss = F.cross_entropy(logits, held_y).item()
                best = max(best, score)
                total += len(held)
                event = {"type": "epoch", "env": env, "at": time.time(), "epoch": epoch, "score": score,
                         "kl": kl, "loss": loss, "best": best, "total": total, "share": 100 * score}
                log.write(json.dumps(event) + "\\n")
                moved = move(host, epoch, score)
                if moved is not None:
                    log.write(json.dumps({**moved, "env": env}) + "\\n")
                rewards.append(score - 0.1 * loss + 0.01 * kl + 0.001 * total + 0.1 * host.cooldown)
        optimizer.zero_grad()
        scale = sum(rewards) / len(rewards)
        (F.cross_entropy(policy(train), train_y) * scale).backward()
        optimizer.step()
    log.close()

main()
"""
RUN = """
command = ["python", "train.py", "{out}"]
budget = 5
timeout = 120

[events]
files = "events.jsonl"
unstable = ["at"]

[env]
field = "env"

[variants.base]
command = ["python", "base.py", "{out}"]
"""
# What is changed, into what; what the headline says; what the line says.
PLANTED = {
    "accuracy over the wrong axis": ("logits.argmax(1) ==", "logits.argmax(0)[:1] ==", "score", "argmax"),
    "the other divergence": ("p.log_softmax(1), log", "p.log_softmax(0), log", "kl", "return F.kl_div"),
    "scores of the training set": ("logits = policy(held)", "logits = policy(train[:16])", "kl", "policy("),
    "a counter of batches": ("total += len(held)", "total += 1", "total", "total +="),
    "a percent read as a fraction": ('"share": 100 * score', '"share": score', "share", '"share": '),
    "the worst kept": ("best = max(best, score)", "best = min(best, score)", "best", "best ="),
    "a reason lost": ('"reason": "low score"', '"reason": None', "reason", "reason"),
    "a shorter cool-down": ("host.cooldown = 5", "host.cooldown = 3", "cooldown", "host.cooldown ="),
    "the loss of half": ("(logits, held_y).item", "(logits[:8], held_y[:8]).item", "loss", "loss ="),
    "an event dropped": (
        "if moved is not None:",
        "if moved is not None and epoch > 2:",
        "(pruned)",
        "if moved",
    ),
}


def plant(project: Project, name: str) -> tuple[str, str]:
    before, after, field, line = PLANTED[name]
    assert TRAIN.count(before) == 1
    project.script(TRAIN, "base.py")
    project.script(TRAIN.replace(before, after))
    project.run_file(RUN)
    return field, line


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of the unchanged program, once it is there."""
    return tmp_path_factory.mktemp("base") / "train"


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_headline_names_the_event(project: Project, base: Path, name: str) -> None:
    field, _ = plant(project, name)
    if not base.exists():
        out = project.golden("record", "train.base", "-o", base.parent)
        assert out.code == 0, out
        (base.parent / "train.base").rename(base)
    result = project.golden("diff", base, project.record("changed"))
    assert result.code == 1
    headline = next(line for line in result.out.splitlines() if line.startswith("first divergence:"))
    assert headline.startswith("first divergence: event ")
    assert field in headline
    assert "written before step 0 overall" in result.out


def test_lines_are_counted_before_they_leave_the_buffer(tmp_path: Path) -> None:
    one, two = EventLines(tmp_path, "events.jsonl"), EventLines(tmp_path, "**/*.jsonl")
    assert (one.counts(), two.counts()) == ({}, {})
    with (tmp_path / "events.jsonl").open("w") as log:
        log.write('{"a": 1}\n\n{"a": 2}\n{"a"')
        assert (one.counts(), two.counts()) == ({"events.jsonl": 2}, {"events.jsonl": 2})
        log.write(": 3}\n")
        assert one.counts() == {"events.jsonl": 3}
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b.jsonl").write_text("{}\n")
    assert two.counts() == {"events.jsonl": 3, "below/b.jsonl": 1}
    # Begun anew.
    (tmp_path / "events.jsonl").write_text("{}\n")
    assert one.counts() == {"events.jsonl": 1}


def test_a_file_that_comes_later_is_counted(tmp_path: Path) -> None:
    """However soon: a folder's time of change is coarse."""
    lines = EventLines(tmp_path, "*.jsonl")
    for number in range(20):
        (tmp_path / f"{number}.jsonl").write_text("{}\n")
        assert len(lines.counts()) == number + 1
    os.utime(tmp_path, (0, 0))
    assert len(lines.counts()) == len(lines.counts()) == 20
    (tmp_path / "0.jsonl").unlink()
    assert len(lines.counts()) == 19


def test_who_does_not_count_writes_for_who_does(tmp_path: Path) -> None:
    """Of several ranks only the first one counts."""
    with (tmp_path / "rank-1.jsonl").open("w") as log:
        log.write("{}\n")
        EventLines(tmp_path, "rank-*.jsonl").counts()
        assert (tmp_path / "rank-1.jsonl").read_text() == "{}\n"


def test_events_are_placed_by_what_was_written() -> None:
    steps = [(0, {"a": [1, 1], "b": [0, 1]}), (1, {"a": [1, 3], "b": [2, 2]})]
    found = moments({"a": 0, "b": 4}, 6, steps)
    assert found == [(0, 0), (1, 1), (1, 1), (2, 0), (0, 1), (1, 0)]
    assert moments({}, 2, steps) == [None, None]
    assert moments({"a": 0}, 1, [(0, None)]) == [None]


def lines_of(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> list[Line]:
    """The lines of a program up to its first update, as `--localize` logs them."""
    folder.mkdir()
    path = folder / "train.py"
    path.write_text(text.replace("        optimizer.step()\n", "        raise SystemExit\n"))
    monkeypatch.setattr(sys, "argv", [str(path), str(folder)])
    code = compile(path.read_text(), str(path), "exec")
    before = sys.gettrace()
    log = LineLog(folder / "lines.jsonl")
    log.start()
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit:
        pass
    finally:
        log.close()
        sys.settrace(before)
    return read_lines(folder / "lines.jsonl")


LOOP = "    for update in range(2):\n"
STATE = "epochs, policy, optimizer, train, held, train_y, held_y, log, best, rewards, total"
MOVED = TRAIN.replace(LOOP, f"    run(({STATE}))\n\ndef run(state):\n    {STATE} = state\n{LOOP}")


OWN = "best|rewards|total"
CLASS = """class Training:
    def __init__(self):
        self.best, self.rewards, self.total = 0.0, [], 0

    def run(self, epochs, policy, optimizer, train, held, train_y, held_y, log):
"""
CALL = "    Training().run(epochs, policy, optimizer, train, held, train_y, held_y, log)\n\nmain()\n"


def of_a_class(script: str) -> str:
    """Make the loop a method, of which some variables are attributes."""
    before, loop = script.replace("    best, rewards, total = 0.0, [], 0\n", "").split(LOOP)
    loop = re.sub(rf"(?<![\"\w])({OWN})\b", r"self.\1", loop.replace("\nmain()\n", ""))
    loop = "".join(f"    {line}\n" for line in (LOOP + loop).splitlines())
    return before.replace("def main(", f"{CLASS}{loop}\ndef main(") + CALL


@pytest.mark.parametrize(
    "script", [TRAIN, MOVED, of_a_class(TRAIN)], ids=["in place", "moved to a function", "made a class"]
)
@pytest.mark.parametrize("name", PLANTED)
def test_the_line_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    monkeypatch.chdir(tmp_path)
    before, after, _, line = PLANTED[name]
    if "class Training" in script:
        before, after = (re.sub(rf"(?<![\"\w])({OWN})\b", r"self.\1", text) for text in (before, after))
    changed = script.replace(before, after)
    assert changed != script
    left, again, right = (
        lines_of(tmp_path / str(number), text, monkeypatch)
        for number, text in enumerate((TRAIN, TRAIN, changed))
    )
    found = locate_line(left, right, noise(left, again))
    assert line in found


def test_a_line_of_a_moved_loop_is_found_among_those_that_move_it() -> None:
    """Only the function that the loop left has its variables from before."""
    condition, stepped = ("if step >= 5:", "if step > 5:"), "state, done = env.step(action)"
    left = [
        Line("train.py", 0, "main", "", {"done": "False"}),
        Line("train.py", 8, "main", "for step in range(9):", {"step": "5"}),
        Line("train.py", 9, "main", condition[0], {}),
        Line("train.py", 10, "main", stepped, {"state": "1"}),
    ]
    right = [
        Line("train.py", 0, "main", "", {"done": "False"}),
        Line("loop.py", 1, "<module>", "from typing import TYPE_CHECKING", {"TYPE_CHECKING": "False"}),
        Line("loop.py", 6, "run", "for step in range(9):", {"step": "5"}),
        Line("loop.py", 7, "run", condition[1], {}),
        Line("loop.py", 8, "run", stepped, {"state": "1", "done": "False"}),
    ]
    found = locate_line(left, right, frozenset())
    assert found == f"train.py:9 main (head: loop.py:7 run) `{condition[0]}` -> `{condition[1]}`"


def test_a_variable_that_is_bound_first_is_no_cause_once_both_set_it() -> None:
    used = "loss = delta * 2"
    left = [
        Line("train.py", 4, "main", "delta = 1", {"delta": "1"}),
        Line("train.py", 5, "main", used, {"loss": "2"}),
    ]
    first = Line("train.py", 3, "main", "delta = None", {"delta": "None"})
    right = [first, left[0], Line("loop.py", 9, "run", used, {"loss": "3"})]
    assert (
        locate_line(left, right, frozenset())
        == f"train.py:5 main (head: loop.py:9 run) `{used}` sets loss: 2 -> 3"
    )


def test_an_import_and_a_time_that_is_handed_over_are_no_cause() -> None:
    begun, draw = "start = time.time()", "optimizer.zero_grad()"
    left = [
        Line("train.py", 1, "<module>", "import os", {}),
        Line("train.py", 4, "main", begun, {"start": "1.5"}),
        Line("train.py", 6, "main", draw, {}),
    ]
    right = [
        Line("train.py", 1, "<module>", "import os  # noqa: F401", {}),
        Line("train.py", 4, "main", begun, {"start": "2.5"}),
        Line("loop.py", 8, "run", "start = self.start", {"start": "2.5"}),
        Line("loop.py", 9, "run", draw, {}),
        Line("loop.py", 10, "run", "model.eval()", {}),
    ]
    found = locate_line(left, right, frozenset({(begun, "start")}))
    assert found == "loop.py:10 run `model.eval()` is extra in head"
