"""`python -m tests.golden.foreign.repeats COUNTS`: run unchanged programs against themselves, over and over.

COUNTS is a JSON file that is gone on with: how often each program was run, and what differed. It stops after
GOLDEN_AA_SECONDS (300 if unset) or at GOLDEN_AA_RUNS runs in all (1,000 if unset).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click

from golden.compare import Identical, compare
from golden.record import find_run, record_run
from golden.trace.trace import Trace
from tests.golden.foreign.trial import EXAMPLES, PROGRAMS, lines
from tests.golden.project import RUN, TRAIN
from tests.golden.test_living import PROGRAM
from tests.golden.test_living import RUN as RUN_LIVING

SMALL = {"train": (TRAIN, RUN), "living": (PROGRAM, RUN_LIVING)}


@click.command()
@click.argument("counts", type=click.Path(dir_okay=False, path_type=Path))
def command(counts: Path) -> None:
    """Exit status 0 if nothing differed, in this part or before."""
    found = json.loads(counts.read_text(encoding="utf-8")) if counts.exists() else {"runs": {}, "alarms": []}
    seconds = float(os.environ.get("GOLDEN_AA_SECONDS", "300"))
    most = int(os.environ.get("GOLDEN_AA_RUNS", "1000"))
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="golden-aa-") as scratch:
        root = _programs(Path(scratch))
        references: dict[str, Trace] = {}
        while time.monotonic() < deadline and sum(found["runs"].values()) < most:
            # Each as often as the others, whatever was done before.
            name = min([*SMALL, *PROGRAMS], key=lambda program: found["runs"].get(program, 0))
            run = find_run(name, root)
            if name not in references:
                references[name] = record_run(run, root=root, out=root / "out" / name)
            trace = record_run(run, root=root, out=root / "out" / "again")
            verdict = compare(references[name], trace)
            shutil.rmtree(trace.folder)
            found["runs"][name] = found["runs"].get(name, 0) + 1
            if not isinstance(verdict, Identical):
                found["alarms"].append([name, *lines(verdict)[:20]])
            counts.write_text(json.dumps(found, indent=1), encoding="utf-8")
    click.echo(f"{sum(found['runs'].values())} runs against themselves in all, {len(found['alarms'])} differ")
    sys.exit(1 if found["alarms"] else 0)


def _programs(folder: Path) -> Path:
    """All programs and their run files in one tree."""
    root = folder / "examples"
    for name in (*PROGRAMS, "golden"):
        shutil.copytree(EXAMPLES / name, root / name)
    for name, (program, run) in SMALL.items():
        (root / f"{name}.py").write_text(program, encoding="utf-8")
        text = run.replace("train.py", f"{name}.py")
        (root / "golden" / "runs" / f"{name}.toml").write_text(text, encoding="utf-8")
    return root


if __name__ == "__main__":
    command()
