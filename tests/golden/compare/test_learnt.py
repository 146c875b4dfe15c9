"""Places in which two runs of one tree differ are learnt and named; what training computes never is."""

from __future__ import annotations

import pytest

from golden.outputs import Masks
from tests.golden.project import PLAIN_RUN, Project

SCRIPT = """
import json, os, sys, time
from pathlib import Path
import torch
from torch import nn

class Meter(nn.Linear):
    def __init__(self):
        super().__init__(4, 1)
        self.begun, self.ticks = time.perf_counter() % 7, time.time_ns()
        self.setting = 3
    def get_extra_state(self):
        return {"started": time.time(), "rounds": 5}
    def set_extra_state(self, state):
        pass

base = os.environ.get("SIDE") == "base"
torch.manual_seed(0)
model = Meter()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    model(torch.ones(3, 4)).pow(2).mean().backward()
    optimizer.step()
    print(f"step {step} used {time.perf_counter_ns()} ticks")
print("said " * 40 + f"{time.perf_counter_ns()} ticks" + " said" * 40)
# CHANGE
place = Path(sys.argv[1]) / f"run_{time.time_ns() // 1000 % 10**6:06d}"
place.mkdir()
score, note = 0.5, "fine"
# SCORE
(place / "scores.json").write_text(json.dumps({"score": score, "per": time.time() % 9, "note": note}))
"""
RUN = """
command = ["python", "train.py", "{out}"]
budget = 5
timeout = 60
environment = { SIDE = "head" }
[variants.base]
environment = { SIDE = "base" }
"""


def prepared(project: Project, marker: str = "CHANGE", code: str = "pass", run: str = RUN) -> Project:
    project.script(SCRIPT)
    project.edit(marker, code)
    project.run_file(run)
    return project


@pytest.mark.slow
def test_clocks_dates_and_times_are_learnt_and_named(project: Project) -> None:
    result = prepared(project).golden("ab", "train")
    assert result.code == 0, result
    line = next(line for line in result.out.splitlines() if line.startswith("not compared, differs"))
    assert line.startswith("not compared, differs between two runs of the base: ")
    for place in (
        "attribute begun of Meter",
        "attribute ticks of Meter",
        "extra state extra_state.started of Meter",
        "file name run_<differs>",
        "field per of run_<differs>/scores.json",
        "line step <number> used <differs> ticks of stdout",
        "line ... " + "said " * 12 + "<differs> ticks" + " said" * 10 + " sai ... of stdout",
    ):
        assert place in line, (place, line)
    assert "setting" not in line
    assert "rounds" not in line


def test_ids_in_names_of_folders_and_of_32_digits_are_learnt(project: Project) -> None:
    code = (
        "import uuid; mark = Path('mark.txt'); short = '9e4a1b' if mark.exists() else '123456'; mark.touch();"
        " model.tag = uuid.uuid4().hex; print('run', model.tag);"
        " made = Path(sys.argv[1], time.strftime('%Y%m%d-%H%M%S-') + short); made.mkdir();"
        " (made / 'x.json').write_text(json.dumps({'id': model.tag}))"
    )
    result = prepared(project, code=code).golden("doctor", "train")
    assert result.code == 0, result
    ids = ("attribute tag of Meter", "file name <time>-<differs>", "field id of <time>-<differs>/x.json")
    for place in (*ids, "line run <differs> of stdout"):
        assert place in result.out, (place, result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("marker", "code", "said"),
    [
        ("CHANGE", "model.setting = 3 if base else 4", "attribute setting: 3 -> 4"),
        ("SCORE", "score = 0.5 if base else 0.25", "field score: 0.5 -> 0.25"),
        ("CHANGE", "print('used' if base else 'saved', 3, 'ticks')", '"used 3 ticks" -> "saved 3 ticks"'),
    ],
)
def test_beside_what_is_learnt_a_change_is_a_difference(
    project: Project, marker: str, code: str, said: str
) -> None:
    result = prepared(project, marker, code).golden("ab", "train")
    assert result.code == 1, result
    assert said in result.out
    assert "not compared, differs between two runs of the base: " in result.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("marker", "code"),
    [
        # Weights, a random state, a value that the host reads, another number of lines, another word.
        ("CHANGE", "model.weight.data.fill_(time.time() % 1); optimizer.step()"),
        ("CHANGE", "mark = Path('mark.txt'); torch.rand(3 + mark.exists()); mark.touch()"),
        ("CHANGE", "print(torch.tensor(time.time() % 9).item())"),
        ("CHANGE", "mark = Path('mark.txt'); mark.exists() and print('x'); mark.touch()"),
        ("SCORE", "note = ''.join(chr(97 + int(c)) for c in str(time.time_ns()))"),
    ],
)
def test_a_program_that_does_not_repeat_itself_is_told_so(project: Project, marker: str, code: str) -> None:
    result = prepared(project, marker, code).golden("doctor", "train")
    assert result.code == 1, result
    assert "different: train run 1 and train run 2" in result.out


def test_without_a_step_nothing_is_learnt(project: Project) -> None:
    project.script("import time\nprint('accuracy', time.time_ns())\n")
    project.run_file('command = ["python", "train.py"]\nbudget = 1\n[observe]\nsteps = false\n')
    result = project.golden("doctor", "train")
    assert result.code == 1, result


@pytest.mark.slow
def test_a_golden_keeps_what_was_learnt(project: Project) -> None:
    prepared(project)
    assert project.golden("record", "train", "--update").code == 0
    result = project.golden("verify", "train")
    assert result.code == 0, result
    assert "not compared, differs between two runs of the base: " in result.out
    assert "attribute begun of Meter" in result.out
    prepared(project, "SCORE", "score = 0.25")
    result = project.golden("verify", "train")
    assert (result.code, "file run_<differs>/scores.json" in result.out) == (1, True), result


BARS = {
    "drawn often": "\r  0%|    | 0/4 [00:00<?, ?it/s]\r 50%|##  | 2/4 [00:01<00:01, 1.9it/s]"
    "\r100%|####| 4/4 [00:02<00:00, 1.9it/s, loss=0.5]\n",
    "drawn once": "\r100%|####| 4/4 [00:00<00:00, 99.1it/s, loss=0.5]\n",
}


def test_bars_that_differ_by_timing_are_no_difference() -> None:
    often, once = (list(Masks({}).lines(text)) for text in BARS.values())
    assert often == once == ["100%|| 4/4 [<time>, loss=0.5]"]
    assert list(Masks({}).lines(BARS["drawn once"].replace("0.5", "0.7"))) != once
    assert list(Masks({}).lines(BARS["drawn often"].rpartition("\r")[0])) == []


@pytest.mark.parametrize("over", ["\r", "\r\x1b[K", "\n\x1b[1A\x1b[2K"])
def test_of_a_line_that_is_drawn_over_the_last_state_counts(over: str) -> None:
    often, seldom = "1/3 loss 3.0", "2/3 loss 2.0"
    drawn = f"begin\n{often}{over}{seldom}{over}3/3 loss 1.0\nend\n"
    assert list(Masks({}).lines(drawn)) == ["begin", "3/3 loss 1.0", "end"]


def test_a_bar_that_is_wiped_leaves_nothing_and_hides_no_line() -> None:
    wiped = "\r 50%|##  | 2/4 [00:00<00:00, 9.1it/s]\r" + " " * 60 + "\rdone\n"
    assert list(Masks({}).lines(wiped)) == ["done"]
    behind = "\r 50%|##  | 2/4 [00:00<00:00, 9.1it/s]epoch 3 has ended\n"
    assert list(Masks({}).lines(behind)) == ["epoch 3 has ended"]
    masks = Masks({})
    assert list(masks.lines("loss 0.25\rloss 0.5\n")) == ["loss 0.5"]
    assert list(masks.left_out.in_words("stdout")) == ["earlier states of lines of stdout"]
    nested = "outer\n\r 50%|## | 1/2 [00:00<00:00, 9.1it/s]\x1b[A\router again\n\n"
    assert list(Masks({}).lines(nested)) == ["outer again", " 50%|| 1/2 [<time>]"]
    unbounded = "\rEpoch 1: 3it [00:00, 9.0it/s, loss=0.5]"
    assert list(Masks({}).lines(f"{unbounded}\n{unbounded} new best 0.5\n")) == [
        "Epoch 1: 3it [<time>, loss=0.5]",
        " new best 0.5",
    ]
    longer = "\rEpoch 1:  50%|## | 1/2 [00:01<00:01,  1.03s/it]"
    assert list(Masks({}).lines(f"{longer}\rEpoch 2:   0%|  | 0/2 [00:00<?, ?it/s]")) == []


@pytest.mark.slow
def test_a_program_with_a_bar_repeats(project: Project) -> None:
    code = (
        "bar = '\\r{:3d}%|#| {}/4 [00:00<00:00, 1it/s]'; first = 0 if base else 3\n"
        "sys.stderr.write(''.join(bar.format(n * 25, n) for n in range(first, 5)))"
    )
    result = prepared(project, code=code).golden("ab", "train")
    assert result.code == 0, result


@pytest.mark.slow
def test_what_threads_print_in_any_order_is_compared_all_the_same(project: Project) -> None:
    # The second run finds what the first one left, and prints in another order.
    code = (
        "again = Path('mark.txt').exists(); open('mark.txt', 'w').close()\n"
        "print('saved\\nloss 0.5' if again else 'loss 0.5\\nsaved')\n"
        "print('end' if base else 'stop')"
    )
    result = prepared(project, code=code).golden("ab", "train")
    assert (result.code, "first divergence: stdout, line" in result.out) == (1, True), result


@pytest.mark.parametrize("options", ["", '"-u", '])
def test_lines_that_threads_print_at_once_stay_whole(
    project: Project, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    code = (
        "import threading; say = lambda who: [print(who, number) for number in range(2000)];"
        " threads = [threading.Thread(target=say, args=(who,)) for who in 'ab'];"
        " [each.start() for each in threads]; [each.join() for each in threads]"
    )
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    project.plain(code, PLAIN_RUN.replace('"train.py"', f'{options}"train.py"'))
    result = project.golden("doctor", "train")
    assert result.code == 0, result


@pytest.mark.slow
def test_lines_of_stdout_that_only_moved_are_named_and_no_difference(project: Project) -> None:
    code = "print('one\\ntwo' if base else 'two\\none')"
    result = prepared(project, code=code).golden("ab", "train")
    assert (result.code, "order of lines of stdout (it differs)" in result.out) == (0, True), result


def test_a_path_or_id_that_is_the_same_in_two_runs_is_compared(project: Project) -> None:
    code = "side = os.environ.get('SIDE', 'head'); print(f'reads /tmp/{side}/x.bin', object())"
    project.plain(code, f"{PLAIN_RUN}\n[variants.base]\nenvironment = {{ SIDE = 'base' }}\n")
    result = project.golden("ab", "train", "-o", project.root / "out")
    assert (result.code, '"reads /tmp/base/x.bin <' in result.out) == (1, True), result
    assert "run file: numbers in 3 lines of stdout\n" in result.out
    # One run of each says nothing of what repeats.
    folders = [project.root / "out" / "train" / side for side in ("base-again", "head")]
    result = project.golden("diff", *folders)
    assert (result.code, "paths and ids in 3 lines of stdout" in result.out) == (0, True), result


def test_a_path_that_is_another_one_in_each_run_is_named(project: Project) -> None:
    code = (
        "import tempfile; made = tempfile.mkdtemp(); print(made);"
        " json.dump([made], open(sys.argv[1] + '/x.json', 'w'))"
    )
    project.plain(code)
    result = project.golden("doctor", "train")
    assert result.code == 0, result
    for where in ("3 lines of stdout", "value.0 of x.json"):
        assert f"paths and ids in {where}" in result.out, result
