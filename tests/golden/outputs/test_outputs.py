"""What a run prints and writes: compared by value, masked where it can't repeat, never run."""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path

import numpy as np
import pytest

from golden.compare import Different, compare
from golden.outputs import Masks, read_outputs
from golden.outputs.pickles import Unreadable, read_checkpoint, read_pickle
from golden.report.text import describe
from golden.trace.outputs import Output
from golden.trace.trace import load_trace
from tests.golden.project import Project
from tests.trees import write

WRITES = """
import csv, gzip, json, os, pickle, sys, time, warnings
from pathlib import Path
import numpy as np, torch
from safetensors.torch import save_file
from torch.utils.tensorboard import SummaryWriter
out = Path(sys.argv[1])
print(f"loss 0.25 in {time.time() % 1:.3f} s at {time.strftime('%Y-%m-%d')} into {out}")
print("object", object())
for part in range(3):
    rate = f"{time.time() % 7:.2f}it/s"
    print(f"\\r {part * 50:3d}%|## | {part}/2 [00:00<00:0{part}, {rate}, loss=0.5]", end="")
print()
warnings.warn("a warning")
weights = {"body.weight": torch.arange(6.0).reshape(2, 3), "count": torch.tensor(3)}
torch.save({"model": weights, "epoch": 3, "options": Path("/x")}, out / "model.pt")
save_file(weights, out / "model.safetensors")
np.savez(out / "arrays.npz", returns=np.arange(4.0))
(out / "scores.json").write_text(json.dumps({"accuracy": 0.5, "elapsed": time.time()}))
(out / "log.jsonl").write_text(json.dumps({"step": 1, "loss": 0.5, "time": time.time()}) + "\\n")
with (out / "table.csv").open("w") as file:
    csv.writer(file).writerows([["step", "loss", "fps"], [1, 0.5, time.time()], [2, 0.25, 7]])
(out / "notes.txt").write_text("one\\ntwo\\nthree\\n")
(out / "more.txt").write_text("one\\ntwo\\nthree\\n")
(out / "picture.bin").write_bytes(b"\\0\\1\\2")
(out / "history.pkl").write_bytes(pickle.dumps({"best": 0.5}))
(out / "settings.saved").write_bytes(pickle.dumps({"width": 3}))
with (out / "episodes.pkl").open("wb") as file:
    for reward in (0.5, 1.5):
        pickle.dump({"reward": reward}, file)
torch.save({"model": weights}, out / "g_00000002")
with gzip.open(out / "more.txt.gz", "wt") as file:
    file.write("packed")
writer = SummaryWriter(out / "board")
for step in range(3):
    writer.add_scalar("loss", 1 / (step + 1), step)
writer.close()
# CHANGE
"""
ONLY_OUTPUT = 'command = ["python", "train.py", "{out}"]\nbudget = 3\n[observe]\nsteps = false\n'

CHANGES = [
    ("print('loss 0.25')", "stdout, line 4 is extra in head: 'loss 0.25'"),
    ("warnings.warn('another')", "stderr, line 2 is extra in head"),
    (
        "torch.save({'model': weights, 'epoch': 4, 'options': Path('/x')}, out / 'model.pt')",
        "file model.pt: field epoch: 3 -> 4",
    ),
    (
        "save_file({**weights, 'count': torch.tensor(4)}, out / 'model.safetensors')",
        "file model.safetensors: field count",
    ),
    ("np.savez(out / 'arrays.npz', returns=np.arange(4.0) + 1)", "file arrays.npz: field returns"),
    (
        "(out / 'scores.json').write_text('{\"accuracy\": 0.75}')",
        "file scores.json: field accuracy: 0.5 -> 0.75",
    ),
    (
        "(out / 'log.jsonl').write_text(json.dumps({'step': 1, 'loss': 0.75}) + '\\n')",
        "file log.jsonl, line 1: field loss: 0.5 -> 0.75",
    ),
    (
        "(out / 'table.csv').write_text('step,loss,fps\\n1,0.5,2\\n2,0.5,7\\n')",
        "file table.csv, row 3: field loss: 0.25 -> 0.5",
    ),
    (
        "(out / 'more.txt').write_text('one\\nthree\\n')",
        "file more.txt, line 2 is missing in head: 'two'",
    ),
    ("(out / 'picture.bin').write_bytes(b'\\0\\1\\3')", "file picture.bin: field bytes"),
    (
        "(out / 'history.pkl').write_bytes(pickle.dumps({'best': 0.75}))",
        "file history.pkl: field best: 0.5 -> 0.75",
    ),
    (
        "(out / 'settings.saved').write_bytes(pickle.dumps({'width': 4}))",
        "file settings.saved: field width: 3 -> 4",
    ),
    (
        "(out / 'episodes.pkl').write_bytes(pickle.dumps({'reward': 0.5}) + pickle.dumps({'reward': 2.5}))",
        "file episodes.pkl: field value.1.reward: 1.5 -> 2.5",
    ),
    (
        "torch.save({'model': {**weights, 'count': torch.tensor(4)}}, out / 'g_00000002')",
        "file g_00000002: field model.count",
    ),
    ("os.remove(out / 'notes.txt')", "file notes.txt is missing in head"),
    (
        "pass",
        "file board/events.out.tfevents, loss, step 2: field value: 0.3333333432674408 -> 0.5",
    ),
    (
        "w = SummaryWriter(out / 'board2'); w.add_scalar('loss', 1.0, 9); w.close()",
        "file board2/events.out.tfevents is extra in head",
    ),
]


def recorded(project: Project, out: str, change: str = "pass") -> Path:
    project.script(WRITES.replace("# CHANGE", change))
    project.run_file(ONLY_OUTPUT)
    return project.record(out)


def test_outputs_repeat_and_each_change_is_placed(project: Project) -> None:
    base = recorded(project, "base")
    again = recorded(project, "again")
    result = project.golden("diff", base, again)
    assert result.code == 0, result
    assert " values of output" in result.out
    all_of_them = "; ".join(change for change, _ in CHANGES)
    assert "1 / (step + 1)" in WRITES
    project.script(
        WRITES.replace("# CHANGE", all_of_them).replace(
            "1 / (step + 1)", "1 / (step + 1) if step < 2 else 0.5"
        )
    )
    found = compare(load_trace(base), load_trace(project.record("changed")))
    assert isinstance(found, Different)
    heads = [describe(divergence)[0] for divergence in (found.first, *found.rest)]
    for said in [said for _, said in CHANGES]:
        assert any(head.startswith(said) for head in heads), (said, heads)


@pytest.mark.slow
def test_streams_are_ignored_by_name_and_named(project: Project) -> None:
    folders = []
    for name in ("base", "changed"):
        project.script(WRITES.replace("# CHANGE", f"print({name!r})"))
        project.run_file(ONLY_OUTPUT + '[outputs]\nignore = ["std*"]\n')
        folders.append(project.record(name))
    result = project.golden("diff", *folders)
    assert result.code == 0
    assert "stdout ([outputs] ignore), stderr ([outputs] ignore)" in result.out


def test_declared_files_masks_and_names(project: Project) -> None:
    table = """
[outputs]
files = ["runs/**/*"]
ignore = ["*.noise"]
unstable = ["nonce"]
mask = ["token [a-z]+"]
"""
    script = """
import json, os, random, sys
from pathlib import Path
made = Path("runs/one")
made.mkdir(parents=True, exist_ok=True)
other = random.SystemRandom()
nonce = other.random()
(made / "scores.json").write_text(json.dumps({"nonce": nonce, "best": 1}))
(made / "x.noise").write_text(str(nonce))
print("token", "".join(other.choice("abc") for _ in range(20)), "best", 1)
"""
    project.script(script)
    project.run_file(ONLY_OUTPUT + table)
    assert project.golden("doctor", "train").code == 0
    base = project.record("base")
    project.script(script.replace('"best": 1', '"best": 2'))
    result = project.golden("diff", base, project.record("changed"))
    assert "first divergence: file runs/one/scores.json: field best: 1 -> 2" in result.out
    project.run_file(ONLY_OUTPUT + '[outputs]\nmask = ["("]\n')
    result = project.golden("doctor", "train")
    assert (result.code, "is no regular expression" in result.err) == (2, True)


@pytest.mark.slow
def test_a_plot_that_is_saved_as_pdf_repeats(project: Project) -> None:
    code = (
        "import matplotlib; matplotlib.use('agg'); from matplotlib import pyplot;"
        " pyplot.plot([1, step]); pyplot.savefig(sys.argv[1] + '/plot.pdf')"
    )
    project.plain(code)
    result = project.golden("doctor", "train")
    assert (result.code, "1 value of output" in result.out) == (0, True), result


@pytest.mark.slow
def test_a_golden_knows_outputs(project: Project) -> None:
    project.edit("AFTER STEP", "print('step', step, 'env', env)")
    assert project.golden("record", "train", "--update").code == 0
    assert project.golden("verify", "train").code == 0
    text = (project.root / "train.py").read_text()
    project.script(text.replace("print('step', step,", "print('step', step + (step == 2),"))
    result = project.golden("verify", "train")
    assert result.code == 1
    assert "first divergence: stdout, line 7: " in result.out
    assert "for both sides: golden ab train --base REF" in result.out


class Hostile:
    """Loading this by pickle would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.write_text, (self.path, "run"))


def test_nothing_that_a_file_names_is_run(tmp_path: Path) -> None:
    import torch

    mark = tmp_path / "mark"
    tree = read_pickle(pickle.dumps({"x": Hostile(mark), "n": 3}))
    assert tree["n"] == 3
    torch.save({"x": Hostile(mark), "w": torch.ones(2)}, tmp_path / "hostile.pt")
    assert read_checkpoint(tmp_path / "hostile.pt")["w"].startswith("float32[2] ")
    assert not mark.exists()
    for raw in (b"", b"\x80\x04", b"not a pickle", pickle.dumps(list(range(9)))[:-3]):
        with pytest.raises(Unreadable):
            read_pickle(raw)


class Node:
    def __init__(self, value: int, parent: Node | None = None) -> None:
        self.value, self.parent, self.parts = value, parent, [Node(value + 1, self)] if value < 2 else []


def test_objects_that_hold_what_holds_them_are_read(tmp_path: Path) -> None:
    """As the nodes of a configuration do in checkpoints of programs with hydra."""
    one, same = read_pickle(pickle.dumps(Node(0))), read_pickle(pickle.dumps(Node(0)))
    assert one == same
    assert one["parts"][0]["parent"] == "<5 levels up>"
    assert one != read_pickle(pickle.dumps(Node(1)))
    team = [Node(2) for _ in range(18)]
    for each in team:
        each.parts = team
    found = read_pickle(pickle.dumps(team))
    assert found == read_pickle(pickle.dumps(team))
    team[7].value = 3
    assert found != read_pickle(pickle.dumps(team))
    deep: list[object] = []
    for _ in range(99):
        deep = [deep]
    with pytest.raises(Unreadable, match="nested too deeply"):
        read_pickle(pickle.dumps(deep))


def test_bytes_of_an_older_protocol_are_bytes_and_no_text(tmp_path: Path) -> None:
    import torch

    value = {"raw": b" 5 s \xe9", "weights": np.frombuffer(b" 5 s 6 s")}
    torch.save(value, tmp_path / "a.pt")
    new, old = (read_pickle(pickle.dumps(value, protocol=protocol)) for protocol in (4, 2))
    assert new["raw"] == old["raw"] == read_checkpoint(tmp_path / "a.pt")["raw"]
    assert old["raw"].startswith("bytes[6] ")
    assert " 5 s " not in str(old) + str(read_checkpoint(tmp_path / "a.pt"))


NOTHING = {"ignored": lambda name: False, "copied": lambda path: None}


def read_files(files: list[tuple[str, Path]]) -> list[Output]:
    return read_outputs({}, files, [], Masks({}), ordered=True, **NOTHING)[0]


def test_of_what_several_processes_draw_each_state_counts_in_any_order(tmp_path: Path) -> None:
    bar = "\r 50%|## | 1/2 [00:00<00:00, 9.1it/s]"
    for name, text in (("a", f"\rfirst\rsecond{bar}\nend\n"), ("b", "\rsecond\rfirst\nend\n")):
        (tmp_path / name).write_bytes(text.encode())
    (a, phrases), (b, _) = (
        read_outputs({"stdout": tmp_path / name}, [], [], Masks({}), ordered=False, **NOTHING)
        for name in "ab"
    )
    assert a == b
    assert [row["line"] for row in a[0].rows] == ["end", "first", "second"]
    assert phrases[-1] == "progress bars of stdout, which several processes draw"


def test_a_large_pickle_under_another_name_is_told_by_its_digest(tmp_path: Path) -> None:
    (tmp_path / "games.examples").write_bytes(pickle.dumps(list(range(500_000))))
    (output,) = read_files([("games.examples", tmp_path / "games.examples")])
    assert (output.kind, len(output.rows)) == ("binary", 1)


def test_equal_tensors_of_other_layout_are_equal(tmp_path: Path) -> None:
    import torch

    x = torch.arange(12.0).reshape(3, 4)
    torch.save({"x": x, "half": x.bfloat16(), "p": torch.nn.Parameter(x)}, tmp_path / "a.pt")
    torch.save({"x": x.T.contiguous().T, "half": x.bfloat16(), "p": torch.nn.Parameter(x)}, tmp_path / "b.pt")
    a, b = read_checkpoint(tmp_path / "a.pt"), read_checkpoint(tmp_path / "b.pt")
    assert a == b
    assert a["x"] == a["p"]
    assert a["half"].startswith("bfloat16[3, 4] ")
    torch.save({"x": -x * 0, "half": x.bfloat16(), "p": torch.nn.Parameter(x)}, tmp_path / "c.pt")
    torch.save({"x": x * 0, "half": x.bfloat16(), "p": torch.nn.Parameter(x)}, tmp_path / "d.pt")
    assert read_checkpoint(tmp_path / "c.pt") != read_checkpoint(tmp_path / "d.pt")


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("epoch 3 loss 0.25 accuracy 0.5", "epoch 3 loss 0.25 accuracy 0.5"),
        ("took 3.2 s, 15 it/s", "took <duration>, <rate>"),
        ("SPS: 1234", "SPS: 1234"),
        ("total_timesteps 2048", "total_timesteps 2048"),
        ("0.3 min 0.1 max 0.5", "0.3 min 0.1 max 0.5"),
        ("a at 0x7f00deadbeef", "a at <address>"),
        ("train.py:33: UserWarning: x", "train.py:<line>: UserWarning: x"),
        ("/opt/venv/lib/python3.12/site-packages/torch/x.py:7: Warn", "{packages}/torch/x.py:<line>: Warn"),
        ("in /usr/lib/python3/dist-packages/numpy", "in {packages}/numpy"),
        ("/tmp/v/lib/python3.11/site-packages/torch", "{packages}/torch"),
        ("~/v/lib/python3.13/asyncio/runners.py", "{python}/asyncio/runners.py"),
        ("data/site-packages/x and /data/lib/x", "data/site-packages/x and /data/lib/x"),
        ("seed 1608637542", "seed 1608637542"),
        ("layers/3 seeds", "layers/3 seeds"),
        ("Step: 12ms | Tot: 1s234ms | Loss: 2.3", "Step: <duration> | Tot: <duration> | Loss: 2.3"),
        ("took 1h 3m 2s; 1 day, 2:03:04", "took <duration>; 1 day, <time>"),
        ("| 00:06 min | elapsed 12:34", "| <time> min | elapsed <time>"),
        ("aspect 16:9, rows 1:20, [1, 2][:10]", "aspect 16:9, rows 1:20, [1, 2][:10]"),
        ("conv 2d 3d of 3 m 4 x", "conv 2d 3d of 3 m 4 x"),
        ("runs/Nov23_03-19-25_host", "runs/<time>_host"),
        ("run_20261123_031925", "run_<time>"),
        ("wandb sync wandb/offline-run-20261123_061810-asrojbjw", "wandb sync wandb/offline-run-<time>-<id>"),
        ("run-20261123_061810-asrojbjwq", "run-<time>-asrojbjwq"),
        ("in May 5 apples, in mar10 20231101", "in May 5 apples, in mar10 20231101"),
    ],
)
def test_masks(line: str, kept: str) -> None:
    assert list(Masks({}).lines(line)) == [kept]


def test_of_a_bar_the_last_state_counts_however_often_they_are_drawn() -> None:
    end = "\r100%|##| 2/2 [00:01<00:00, 3.1it/s, loss=0.25]"
    begin = "\r  0%|  | 0/2 [00:00<?, ?it/s]"
    often = f"{begin}\r 50%|# | 1/2 [00:00<00:01, 2.0it/s]{end.replace('0.25', '0.5')}{end}\n"
    seldom = f"{begin}{end}\n\x1b[A"
    drawn, less = (list(Masks({}).lines(f"a\n{text}b\r\nc\rd\n")) for text in (often, seldom))
    assert drawn == less == ["a", "100%|| 2/2 [<time>, loss=0.25]", "b", "d"]


def test_each_bar_that_stays_on_the_screen_counts() -> None:
    """As tqdm draws them: one after the other, one that a `break` ends, and one inside the other."""

    def bar(title: str, done: int, loss: float, width: int = 2) -> str:
        filled = "#" * (done * width // 2) + " " * (width - done * width // 2)
        return f"\r{title}: {done * 50:3d}%|{filled}| {done}/2 [00:00<00:00, {width}.5it/s, loss={loss}]"

    drawn, less = (
        f"{early}{bar('a', 2, 0.5, width)}\n{early}{bar('b', 1, 0.25)}\n"
        f"{bar('outer', 1, 0.0)}\n{inner}\x1b[A{bar('inner', 2, 0.75)}\n{bar('outer', 2, 1.0)}\n"
        for early, inner, width in (
            (bar("a", 0, 9.0), bar("inner", 1, 8.0), 4),
            ("", bar("inner", 0, 0.0), 8),
        )
    )
    kept = ("a: 100%|| 2/2", "b:  50%|| 1/2", "inner: 100%|| 2/2", "outer: 100%|| 2/2")
    losses = (0.5, 0.25, 0.75, 1.0)
    expected = [f"{bar} [<time>, loss={loss}]" for bar, loss in zip(kept, losses, strict=True)]
    assert list(Masks({}).lines(drawn)) == list(Masks({}).lines(less)) == expected


def test_bars_of_ultralytics_are_bars() -> None:
    often = (
        "\r\x1b[K 1/2  1.18: 33% ━━━━──────── 1/3 3.7it/s 0.2s<0.3s"
        "\r\x1b[K 1/2  1.18: 66% ━━━━━━━━──── 2/3 3.7it/s 1:02<0.3s"
        "\r\x1b[K 1/2  1.12: 100% ━━━━━━━━━━━━ 3/3 12.1it/s 1:03\n"
        "\r\x1b[Kfiles: ╸─────────── 7 3.7it/s 0.2s\r\x1b[Kfiles: ━━━━━━━━━━━━ 9 2.7it/s 0.4s\n"
    )
    seldom = (
        "\r\x1b[K 1/2  1.12: 100% ━━━━━━━━━━━━ 3/3 9.9it/s 0.5s\n\r\x1b[Kfiles: ━━━━━━━━━━━━ 9 1.7it/s 0.9s\n"
    )
    masks = Masks({})
    kept = [" 1/2  1.12: 100%|| 3/3 <time>", "files:|| 9 <time>"]
    assert list(masks.lines(often)) == list(Masks({}).lines(seldom)) == kept
    assert masks.left_out.lines == 2


def test_a_bar_that_is_filled_up_and_gone_back_over_repeats() -> None:
    for took in ("436ms", "1s37ms"):
        drawn = f" [==>..]  Step: {took} | Acc: 7.0% (9/128)".ljust(70) + "\b" * 48 + " 5/5 \n"
        assert list(Masks({}).lines(drawn)) == [" [==>..]  Step: <duration> | Acc: 7.0% (9/128)  5/5"]


def test_a_warning_of_code_that_moved_is_the_same_warning() -> None:
    masks = Masks({"/home/me/repository": "{root}"})
    before, after = (
        list(masks.lines(f"/home/me/repository/{place}: UserWarning: x\n  step()\nlast"))
        for place in ("train.py:33", "lib/epochs.py:7")
    )
    assert before == after == ["{root}/<file>.py:<line>: UserWarning: x", "last"]
    error = "/home/me/repository/train.py:33: error: x"
    assert list(masks.lines(error)) == ["{root}/train.py:<line>: error: x"]


def test_the_time_of_day_in_a_name_is_told_from_a_number_as_large() -> None:
    now, other = int(time.time()), 1_476_000_000
    assert Masks({}).text(f"runs/CartPole__ppo__1__{now} {other}") == f"runs/CartPole__ppo__1__<time> {other}"
    assert Masks({}).path(f"runs/x__1__{now}/a") == "runs/x__1__<time>/a"


@pytest.mark.parametrize(
    "writing",
    [
        "%c",
        "%Y_%m_%d__%H_%M_%S",
        "%Y_%m_%d_%H_%M_%S",
        "%Y%m%d-%H%M",
        "%Y%m%d%H%M",
        "%Y.%m.%d",
        "%Y-%m-%d",
        "%A_%d_%B_%Y_%Hh_%Mm_%Ss",
    ],
)
def test_the_time_of_now_is_masked_in_each_usual_writing(writing: str) -> None:
    now = time.strftime(writing)
    assert Masks({}).text(f"saved {now}") == "saved <time>"
    name = now.lower().replace(" ", "_").replace(":", "_")
    assert Masks({}).path(f"results/vqvae_{name}.pth") == "results/vqvae_<time>.pth"
    other = time.strftime(
        "%Y-%m-%d" if "%B" in writing else writing.replace("%c", "%Y-%m-%d"), time.gmtime(1_000_000_000)
    )
    assert Masks({}).text(f"saved {other}") == f"saved {other}"


def test_a_truth_value_is_no_time_whatever_its_name() -> None:
    settings = {"time_dependent": True, "log_time": False, "avg_time": 0.25}
    assert Masks({}).tree(settings) == {"time_dependent": True, "log_time": False}


def test_a_path_is_masked_where_it_is_the_key_of_a_table() -> None:
    masks = Masks({"/work/copy": "{root}"})
    best = {f"/work/copy/runs/2026-11-2{day}_09-08-0{day}/{day}.ckpt": day for day in (6, 7)}
    today = time.strftime("/work/copy/runs/%Y-%m-%d_%H-%M-%S/")
    assert masks.tree({"best": {today + "1.ckpt": 0.5}}) == {"best": {"{root}/runs/<time>/1.ckpt": 0.5}}
    assert list(masks.tree({today: 1, today[:-2] + "x/": 2}).values()) == [1, 2]
    assert len(masks.tree(best)) == 2


def test_lines_beside_a_bar_of_rich_are_as_far_in_as_its_rate_is_short() -> None:
    short, long = (f"{' ' * width}val/loss: 2.25\n  kept\n" for width in (61, 62))
    assert list(Masks({}).lines(short)) == list(Masks({}).lines(long)) == ["val/loss: 2.25", "  kept"]


def test_a_table_is_no_time_whatever_its_name() -> None:
    state = {"time_mlp": {"weight": "float32[2] 0a", "seconds": 3.5}, "epoch_times": [0.25, 0.5]}
    assert Masks({}).tree(state) == {"time_mlp": {"weight": "float32[2] 0a"}}


def test_tables_with_comments_and_without_a_name_that_says_so(tmp_path: Path) -> None:
    sides = []
    for took in (0.25, 12.5):
        (tmp_path / "0.monitor.csv").write_text('#{"seed": 1}\nr,l,t\n9.0,9,0.5\n')
        (tmp_path / "progress.txt").write_text(f"Epoch\tEpRet\tTime\n0\t9.5\t{took}\n1\t9.5\t{2 * took}\n")
        files = [(name, tmp_path / name) for name in ("0.monitor.csv", "progress.txt")]
        sides.append(read_files(files))
    assert sides[0] == sides[1]
    assert [output.kind for output in sides[0]] == ["table", "table"]
    assert sides[0][0].rows[2] == {"r": 9.0, "l": 9, "t": 0.5}
    assert sides[0][1].rows[2] == {"Epoch": 1, "EpRet": 9.5}


def test_attributes_of_a_graph_have_no_order(tmp_path: Path) -> None:
    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    def written(name: str, *attributes: bytes) -> list[Output]:
        node = field(1, b"node") + b"".join(field(5, each) for each in attributes)
        event = field(4, field(1, node))
        record = len(event).to_bytes(8, "little") + bytes(4) + event + bytes(4)
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.out.tfevents").write_bytes(record)
        return read_files([("e", tmp_path / name / "events.out.tfevents")])

    assert written("one", b"a", b"b") == written("two", b"b", b"a")
    assert written("three", b"a", b"b") != written("four", b"a", b"c")


def test_folders_of_wandb_and_mlflow(tmp_path: Path) -> None:
    """As these packages lay them out, written by hand: names with ids and dates, logs, a metric's file."""
    sides = []
    for number, (date, run, loss) in enumerate(
        [("20250102_030405", "ab12cd34", 0.5), ("20260607_080910", "zz99yy88", 0.25)]
    ):
        root = tmp_path / str(number)
        files = {
            f"wandb/run-{date}-{run}/files/wandb-summary.json": json.dumps(
                {"loss": loss, "_timestamp": number, "_runtime": 3}
            ),
            f"wandb/run-{date}-{run}/files/wandb-metadata.json": json.dumps({"startedAt": date}),
            f"wandb/run-{date}-{run}/logs/debug.log": f"{date} MainThread {number}",
            f"wandb/run-{date}-{run}/run-{run}.wandb": f"\0{date}",
            f"mlruns/0/{number:032x}/metrics/loss": f"17000000{number}0000 {loss} 1\n",
            f"mlruns/0/{number:032x}/params/lr": "0.1",
        }
        write(root, files)
        (root / "wandb/debug.log").symlink_to(root / f"wandb/run-{date}-{run}/logs/debug.log")
        written = [(name, root / name) for name in (*files, "wandb/debug.log")]
        sides.append({o.name: o for o in read_files(written)})
    left, right = sides
    assert sorted(left) == sorted(right)
    summary, metric = "wandb/run-<id>/files/wandb-summary.json", "mlruns/0/<id>/metrics/loss"
    assert {name for name in left if left[name] != right[name]} == {summary, metric}
    # That the time of a metric differs is learnt.
    assert (left[summary].rows, left[metric].rows) == (({"loss": 0.5},), ({"line": "1700000000000 0.5 1"},))
    assert "wandb's own log" in left["wandb/run-<id>/run-<id>.wandb"].unread
    assert not any("metadata" in name or "debug" in name for name in left)
