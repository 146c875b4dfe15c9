"""Small projects to record: a folder with a script and a run file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from golden.cli import main
from golden.record import Closely, find_run, record_run

TRAIN = """
import json, sys, time
from pathlib import Path
import torch
from torch import nn

out = Path(sys.argv[1])
options = dict(pair.split("=") for pair in sys.argv[2:])
steps = int(options.get("steps", 6))
torch.manual_seed(0)
hosts = [nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)) for _ in range(3)]
optimizers = [torch.optim.SGD(h.parameters(), lr=0.1, momentum=0.9) for h in hosts]
x = torch.randn(16, 4)
y = torch.randint(2, (16,))
with (out / "events.jsonl").open("w") as log:
    for step in range(steps):
        for env, (host, optimizer) in enumerate(zip(hosts, optimizers)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(host(x), y)
            loss.backward()
            # BEFORE STEP
            optimizer.step()
            # AFTER STEP
            event = {"type": "step", "env": env, "at": time.time(), "step": step, "loss": loss.item()}
            # EVENT
            log.write(json.dumps(event) + "\\n")
            # AFTER EVENT
"""

RUN = """
command = ["python", "train.py", "{out}"]
budget = 5
timeout = 60

[events]
files = "events.jsonl"
unstable = ["at"]

[env]
field = "env"
module = "Sequential"
count = 3
"""


# Nothing of torch is needed to write events, to crash or to hang; without it a process starts at once.
PLAIN = """
import json, os, signal, sys, time
log = open(sys.argv[1] + "/events.jsonl", "w")
for step in range(3):
    log.write(json.dumps({"type": "step", "step": step}) + "\\n")
    log.flush()
    # AFTER EVENT
"""

PLAIN_RUN = """
command = ["python", "train.py", "{out}"]
budget = 1

[events]
files = "events.jsonl"

[observe]
steps = false
"""


@dataclass(frozen=True)
class Result:
    """One command's end."""

    code: int
    out: str
    err: str


class Project:
    """A folder that holds train.py and golden/runs/train.toml."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys
        (root / "golden" / "runs").mkdir(parents=True)
        self.script(TRAIN)
        self.run_file(RUN)

    def script(self, text: str, name: str = "train.py") -> None:
        (self.root / name).write_text(text)

    def plain(self, marker_code: str = "pass", run: str = PLAIN_RUN) -> None:
        """Use the script without torch, with one line of code at its marker."""
        self.script(PLAIN.replace("# AFTER EVENT", marker_code))
        self.run_file(run)

    def edit(self, marker: str, code: str) -> None:
        """Put one line of code at a marker comment of the script, at its indentation."""
        text = (self.root / "train.py").read_text()
        assert f"# {marker}\n" in text
        self.script(text.replace(f"# {marker}\n", f"{code}\n"))

    def run_file(self, text: str, name: str = "train") -> None:
        (self.root / "golden" / "runs" / f"{name}.toml").write_text(text)

    def golden(self, *argv: str | Path) -> Result:
        """Run one command in process."""
        self._capsys.readouterr()
        code = main([str(part) for part in argv])
        captured = self._capsys.readouterr()
        return Result(code, captured.out, captured.err)

    def record(self, out: str, *, dense: bool = False) -> Path:
        """Record the run `train`, with every tensor of every step if ``dense``; the folder of its trace."""
        folder = self.root / out / "train"
        record_run(
            find_run("train", self.root),
            root=self.root,
            out=folder,
            closely=Closely(dense=range(100 if dense else 0)),
            label="train",
        )
        return folder
