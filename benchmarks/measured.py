"""Public CUDA programs on the simulated GPU: the CPU's bits, the cost, and the static check measured by them.

    python benchmarks/measured.py [--only NAME]... [--keep DIR]

Each program runs unmodified for some optimizer steps, on the CPU and on a simulated GPU. Exit status: 0 if
every one has the CPU's weights and output, 1 if one has others, 2 if the programs are not there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Beside this file lie benchmarks that have the tools' names.
sys.path[0] = str(ROOT)

from benchmarks.real import corpus  # noqa: E402
from codemods.hotpath.check import check  # noqa: E402
from codemods.hotpath.config import Config  # noqa: E402
from codemods.hotpath.measurements import crosscheck, read_measured  # noqa: E402
from codemods.hotpath.results import HEATS  # noqa: E402

_TIMES = re.compile(r"\d+[.:]\d+(?=s| ?ms)|\d\d:\d\d:\d\d|cuda(:0|=\w+)?|cpu|simulated GPU")


@dataclass(frozen=True, slots=True)
class Program:
    """A script of an archive, its arguments, and for how many optimizer steps it runs.

    Attributes:
        cpu: arguments that it needs besides to run on the CPU.
    """

    name: str
    archive: str
    script: str
    arguments: tuple[str, ...] = ()
    steps: int = 20
    cpu: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)


_TUTORIAL = "yunjey-pytorch-tutorial"
_TCN = "locuslab-TCN"
_IGNITE = "pytorch-ignite"
_SHORT_TD3 = ("--start_timesteps", "60", "--max_timesteps", "200", "--eval_freq", "100")
_STORY = "".join(f"O God, O God! a tale of two lines and of one more that {n} told\n" for n in range(600))
PROGRAMS = (
    Program(
        "TCN, copying memory",
        _TCN,
        "TCN/copy_memory/copymem_test.py",
        ("--epochs", "1", "--blank_len", "50", "--levels", "3"),
        cpu=("--cuda",),
    ),
    Program(
        "TCN, adding problem",
        _TCN,
        "TCN/adding_problem/add_test.py",
        ("--epochs", "1", "--seq_len", "50", "--levels", "3"),
        cpu=("--cuda",),
    ),
    Program(
        "TCN, pixels",
        _TCN,
        "TCN/mnist_pixel/pmnist_test.py",
        ("--epochs", "1", "--levels", "3"),
        steps=6,
        cpu=("--cuda",),
    ),
    Program("ResNet", _TUTORIAL, "tutorials/02-intermediate/deep_residual_network/main.py", steps=8),
    Program(
        "bidirectional LSTM",
        _TUTORIAL,
        "tutorials/02-intermediate/bidirectional_recurrent_neural_network/main.py",
    ),
    Program("GAN", _TUTORIAL, "tutorials/03-advanced/generative_adversarial_network/main.py", steps=40),
    Program("VAE", _TUTORIAL, "tutorials/03-advanced/variational_autoencoder/main.py"),
    Program(
        "language model",
        _TUTORIAL,
        "tutorials/02-intermediate/language_model/main.py",
        files={"data/train.txt": "a tale of two lines and of one more\n" * 500},
    ),
    Program("PPO-PyTorch", "nikhilbarhate99-PPO-PyTorch", "train.py", steps=10),
    Program(
        "TD3",
        "sfujim-TD3",
        "main.py",
        _SHORT_TD3,
        steps=120,
    ),
    Program("minGPT, addition", "karpathy-minGPT", "projects/adder/adder.py"),
    Program(
        "minGPT, characters",
        "karpathy-minGPT",
        "projects/chargpt/chargpt.py",
        ("--data.block_size=32",),
        steps=8,
        files={"input.txt": _STORY},
    ),
    Program(
        "DDPG",
        "sfujim-TD3",
        "main.py",
        ("--policy", "DDPG", *_SHORT_TD3),
        steps=120,
    ),
    Program(
        "TCN, words",
        _TCN,
        "TCN/word_cnn/word_cnn_test.py",
        ("--epochs", "1", "--levels", "2", "--nhid", "60", "--emsize", "60", "--data", "data/penn"),
        cpu=("--cuda",),
        files={f"data/penn/{part}.txt": _STORY for part in ("train", "valid", "test")},
    ),
    Program("feedforward network", _TUTORIAL, "tutorials/01-basics/feedforward_neural_network/main.py"),
    Program(
        "convolutional network",
        _TUTORIAL,
        "tutorials/02-intermediate/convolutional_neural_network/main.py",
        steps=10,
    ),
    Program(
        "recurrent network",
        _TUTORIAL,
        "tutorials/02-intermediate/recurrent_neural_network/main.py",
        steps=10,
    ),
    Program("ignite, MNIST", _IGNITE, "examples/mnist/mnist.py", steps=10),
    Program(
        "ignite, DCGAN",
        _IGNITE,
        "examples/gan/dcgan.py",
        ("--dataset", "fake", "--dataroot", "none", "--output-dir", "out"),
        steps=6,
    ),
    Program("ignite, siamese network", _IGNITE, "examples/siamese_network/siamese_network.py", steps=4),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """A run: what it printed, without times and devices; CPU seconds a step; the digest of its weights."""

    output: tuple[str, ...]
    seconds: float
    digest: str


def run(program: Program, folder: Path, *, report: Path | None = None, lines: Path | None = None) -> Ran:
    """Run a program to its last step: on the CPU, or on a simulated GPU that writes a report."""
    script = [str(ROOT / "benchmarks" / "limited.py"), str(program.steps), program.script]
    command = [sys.executable, *script, *program.arguments, *(() if report else program.cpu)]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"}
    variables.pop("PYTHONPATH", None)
    if report:
        golden = [sys.executable, "-m", "golden", "syncs", "-o", str(report), "--"]
        command, variables["PYTHONPATH"] = [*golden, *command], str(ROOT)
    if lines:
        variables["LINES_THAT_RAN"] = str(lines)
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    printed = done.stdout.splitlines()
    last = next((number for number, line in enumerate(printed) if line.startswith("limited: ")), None)
    if last is None:
        raise SystemExit(f"{program.name}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    _, seconds, digest = printed[last].split()
    return Ran(tuple(_TIMES.sub("#", line) for line in printed[:last]), float(seconds), digest)


def measure(program: Program, archive: Path, kept: Path | None) -> tuple[bool, Counter[str]]:
    """Run a program on both and print the outcome; whether they agree, and the static check's verdicts."""
    with tempfile.TemporaryDirectory(prefix="measured-") as scratch:
        report = (kept or Path(scratch)) / f"{program.name.replace(' ', '-')}.json"
        lines = Path(scratch) / "lines.json"
        folders = [_unpacked(program, archive, Path(scratch) / side) for side in ("cpu", "gpu", "lines")]
        cpu, gpu = run(program, folders[0]), run(program, folders[1], report=report)
        run(program, folders[2], lines=lines)
        document, ran = json.loads(report.read_text()), set(json.loads(lines.read_text()))
        found = crosscheck(check([folders[1]], Config(heat=HEATS), root=folders[1]), read_measured(report))
    # A line of a branch that was not taken says nothing.
    rows = [row for row in found if f"{row.path}:{row.line}" in ran]
    syncs = [row for row in document["syncs"] if "limited" not in row["file"]]
    same = (cpu.output, cpu.digest) == (gpu.output, gpu.digest)
    lines_with = len({(row["file"], row["line"]) for row in syncs})
    print(
        f"{program.name}: {'the same bits' if same else 'OTHER BITS'} in {document['steps']} steps, "
        f"{sum(row['count'] for row in syncs)} syncs at {lines_with} lines, "
        f"{sum(race['count'] for race in document['races'])} races; {1000 * cpu.seconds:.1f} ms a step, "
        f"times {gpu.seconds / cpu.seconds:.1f}",
        flush=True,
    )
    for one, other in zip(cpu.output, gpu.output, strict=False):
        if one != other:
            print(f"  {one}\n  {other}")
    for row in rows:
        if row.verdict != "confirmed":
            said = f"{row.code} {row.heat}: " if row.code else ""
            print(f"  {row.path}:{row.line}: {said}{row.verdict} {', '.join(row.syncs)}")
    return same, Counter(row.verdict for row in rows)


def _unpacked(program: Program, archive: Path, folder: Path) -> Path:
    folder.mkdir()
    subprocess.run(["tar", "xzf", str(archive), "-C", str(folder), "--strip-components", "1"], check=True)
    for name, text in program.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the programs, and print the static check's precision and recall over all of them."""
    parser = argparse.ArgumentParser(description="Public CUDA programs on the simulated GPU.")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this program; repeatable")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the reports here")
    options = parser.parse_args(argv)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    try:
        archives = {program.name: program.archive for program in corpus.repositories()}
    except corpus.CorpusError as error:
        print(f"measured: {error}", file=sys.stderr)
        return 2
    chosen = [program for program in PROGRAMS if not options.only or program.name in options.only]
    kept = options.keep.resolve() if options.keep else None
    found = [measure(program, archives[program.archive], kept) for program in chosen]
    count = sum((verdicts for _, verdicts in found), Counter[str]())
    waits = count["confirmed"] + count["another heat"]
    print(
        f"{len(found)} programs, {sum(same for same, _ in found)} with the CPU's bits; "
        f"{waits} of {waits + count['no sync']} reported operations that ran wait, "
        f"{count['confirmed']} as often as said; "
        f"{count['not reported']} lines that wait in loops are not reported"
    )
    return 0 if all(same for same, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
