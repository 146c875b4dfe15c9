"""The trainer against a bare PyTorch loop that trains and validates the same hosts on the same batches.

    python benchmarks/hot_path.py [--envs N] [--rounds R] [--data-dir DIR] [--clock cpu|wall]

The two alternate epoch by epoch in one process, on one thread: whenever the trainer has finished an epoch of
all hosts, its clock stops and the bare loop trains its hosts for one. Printed are the ratio of the two with
its spread, env-steps/s, images/s and multiply-adds/s beside what a matrix product reaches on this thread, the
trainer's time by phase, what a counterfactual evaluation costs, and how often the host reads from tensors.

Env-steps/s compare nothing but two loops over the same hosts and data: how many images a step holds and how
large the host is are the user's choice. Multiply-adds are those of the bare loop's epoch, for both: what the
trainer computes besides (comparisons of seeds, the policy) is overhead.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from esper.kasmina import CNNHost, MorphogeneticModel, build_seed
from esper.leyline import HEAD_INDEX, AlphaCurve, BlendMode, LifecycleOp, SeedStage, SlotConfig
from esper.leyline.task import TaskSpec
from esper.leyline.telemetry import EpochCompleted, RoundStarted, TelemetryEvent, Throughput
from esper.nissa import get_hub
from esper.runtime import get_task_spec
from esper.simic.agent import PPOAgent
from esper.simic.training import vectorized
from esper.simic.training.config import TrainingConfig
from esper.tolaria.data import SharedBatchIterator, TrainingData, load_data
from esper.tolaria.models import create_model, create_optimizer
from esper.tolaria.runtime import derive_generator, keep_freed_memory

CPU = torch.device("cpu")
READS = ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__", "__index__")
GROWN_EPOCH = 12
SEED_BLUEPRINT = "conv_light"

# One action a step, of every host: three seeds germinate, then all of them move on to blending; then waiting.
SCRIPT: Sequence[tuple[LifecycleOp, int]] = [
    *((LifecycleOp.GERMINATE, slot) for slot in range(3)),
    *((LifecycleOp.ADVANCE, slot) for slot in range(3)),
]
CHOICES = {"blueprint": 3, "style": 1, "tempo": 0, "alpha_target": 2}


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor and wall time in seconds."""

    cpu: float = 0.0
    wall: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.cpu + other.cpu, self.wall + other.wall)


class Stopwatch:
    """Time since the start or the last lap."""

    def __init__(self) -> None:
        self._marks = time.process_time(), time.perf_counter()

    def lap(self) -> Spent:
        """Return the seconds of this lap and begin the next."""
        marks = time.process_time(), time.perf_counter()
        spent = Spent(marks[0] - self._marks[0], marks[1] - self._marks[1])
        self._marks = marks
        return spent


class GrownHost(nn.Module):
    """A host with three seeds added to its features, written as one would write it without a trainer."""

    def __init__(self, host: CNNHost, generator: torch.Generator) -> None:
        super().__init__()
        self.host = host
        self.seeds = nn.ModuleList(
            build_seed(SEED_BLUEPRINT, channels, generator) for channels in host.slot_channels.values()
        )

    def forward(self, x: Tensor) -> Tensor:
        """Logits of images."""
        x = self.host.run_segment(0, x)
        for index, seed in enumerate(self.seeds, start=1):
            x = self.host.run_segment(index, x + seed(x))
        return x


class BareLoop:
    """Plain training of several hosts, side by side as the trainer does it."""

    def __init__(self, task: TaskSpec, data: TrainingData, envs: int, *, grown: bool) -> None:
        self.models = [new_host(task, env, grown=grown) for env in range(envs)]
        self.optimizers = [
            create_optimizer(list(model.parameters()), task, learning_rate=task.host_lr)
            for model in self.models
        ]
        generators = [derive_generator(0, 0, env, "data") for env in range(envs)]
        self.train_batches = SharedBatchIterator(data, task.batch_size, [CPU] * envs, generators)
        self.val_batches = SharedBatchIterator(data, task.batch_size, [CPU] * envs)

    def epoch(self) -> list[list[float]]:
        """Train and validate every host once; summed losses and correct answers."""
        totals = torch.zeros(len(self.models), 4)
        for model in self.models:
            model.train()
        for batches in self.train_batches:
            for model, optimizer, total, (inputs, targets) in zip(
                self.models, self.optimizers, totals, batches, strict=True
            ):
                optimizer.zero_grad(set_to_none=True)
                logits = model(inputs)
                loss = F.cross_entropy(logits, targets)
                loss.backward()
                optimizer.step()
                total[0] += loss.detach() * len(targets)
                total[1] += (logits.argmax(1) == targets).sum()
        self.validate(totals)
        return totals.tolist()

    @torch.inference_mode()
    def validate(self, totals: Tensor) -> None:
        """One plain validation pass of every host."""
        for model in self.models:
            model.eval()
        for batches in self.val_batches:
            for model, total, (inputs, targets) in zip(self.models, totals, batches, strict=True):
                logits = model(inputs)
                total[2] += F.cross_entropy(logits, targets, reduction="sum")
                total[3] += (logits.argmax(1) == targets).sum()


def new_host(task: TaskSpec, env: int, *, grown: bool) -> nn.Module:
    """A host as the trainer makes it, without slots; with seeds in place of them if grown."""
    slots = SlotConfig(task.slots)
    generator = derive_generator(0, 0, env, "weights")
    host = create_model(task, slots, task.slots, generator=generator, device=CPU).host
    assert isinstance(host, CNNHost)
    model = GrownHost(host, generator) if grown else host
    return model.to(memory_format=torch.channels_last)


class ScriptedAgent(PPOAgent):
    """The whole policy is asked, and then the script is followed: its end is to wait."""

    script: Sequence[tuple[LifecycleOp, int]] = ()

    def initial_hidden(self, num_envs: int) -> Any:
        self.step = 0
        return super().initial_hidden(num_envs)

    def get_action(self, *arguments: Any, **options: Any) -> Any:
        decision = super().get_action(*arguments, **options)
        op, slot = self.script[self.step] if self.step < len(self.script) else (LifecycleOp.WAIT, 0)
        self.step += 1
        actions = torch.zeros_like(decision.actions)
        for head, choice in {**CHOICES, "op": op, "slot": slot}.items():
            actions[:, HEAD_INDEX[head]] = choice
        return replace(decision, actions=actions)


@dataclass
class Alternation:
    """An output of the trainer that runs the bare loop after every epoch, outside the trainer's time.

    `pairs` has trainer and bare loop for every epoch after `first_epoch`; `rounds` all of the trainer's time,
    with its policy updates, and `plain` all of the bare loop's.
    """

    bare: BareLoop
    envs: int
    first_epoch: int = 0
    pairs: list[tuple[Spent, Spent]] = field(default_factory=list)
    rounds: Spent = Spent()
    plain: Spent = Spent()
    phases: dict[str, float] = field(default_factory=dict)
    watch: Stopwatch = field(default_factory=Stopwatch)

    def emit(self, event: TelemetryEvent) -> None:
        """Stop the trainer's clock at the end of every epoch of all hosts."""
        match event.data:
            case RoundStarted():
                self.watch.lap()
            case EpochCompleted() if event.env == self.envs - 1:
                trainer = self.watch.lap()
                self.bare.epoch()
                plain = self.watch.lap()
                self.rounds += trainer
                self.plain += plain
                self.phases["act"] = self.phases.get("act", 0.0) - plain.wall
                if (event.epoch or 0) > self.first_epoch:
                    self.pairs.append((trainer, plain))
            case Throughput(phase_s=phase_s):
                self.rounds += self.watch.lap()
                for name, seconds in phase_s.items():
                    self.phases[name] = self.phases.get(name, 0.0) + seconds

    def close(self) -> None:
        """Nothing to close."""


@dataclass
class Reads:
    """An output of the trainer that counts what the host reads from tensors, epoch by epoch."""

    envs: int
    total: int = 0
    marks: list[int] = field(default_factory=list)

    def emit(self, event: TelemetryEvent) -> None:
        """Remember the count at the end of every epoch of all hosts."""
        if isinstance(event.data, EpochCompleted) and event.env == self.envs - 1:
            self.marks.append(self.total)

    def close(self) -> None:
        """Nothing to close."""

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Wrap the reading methods of tensors inside the block."""
        originals = {name: getattr(Tensor, name) for name in READS}
        try:
            for name, original in originals.items():
                setattr(Tensor, name, self._wrapped(original))
            yield
        finally:
            for name, original in originals.items():
                setattr(Tensor, name, original)

    def _wrapped(self, original: Any) -> Any:
        def read(*arguments: Any, **options: Any) -> Any:
            self.total += 1
            return original(*arguments, **options)

        return read


def train(
    config: TrainingConfig, task: TaskSpec, output: Any, script: Sequence[tuple[LifecycleOp, int]]
) -> None:
    """Run the trainer with a scripted policy."""
    agent = type("Agent", (ScriptedAgent,), {"script": script})
    with patch.object(vectorized, "PPOAgent", agent), get_hub().attached(output):
        vectorized.train_ppo_vectorized(config, task)


def compare(config: TrainingConfig, task: TaskSpec, data: TrainingData, clock: str, *, grown: bool) -> None:
    """Print the trainer's time over the bare loop's."""
    first = GROWN_EPOCH if grown else 1
    alternation = Alternation(BareLoop(task, data, config.envs, grown=grown), config.envs, first)
    work = multiply_adds(BareLoop(task, data, config.envs, grown=grown))
    train(config, task, alternation, SCRIPT if grown else ())
    ratios = sorted(getattr(ours, clock) / getattr(plain, clock) for ours, plain in alternation.pairs)
    low, middle, high = statistics.quantiles(ratios, n=4)
    seconds = statistics.median(getattr(ours, clock) for ours, _ in alternation.pairs)
    bare_seconds = statistics.median(getattr(plain, clock) for _, plain in alternation.pairs)
    images = config.envs * (data.train_size + data.val_size)
    title = "three seeds active per host" if grown else "no seed grown"
    print(f"\n{title} ({len(ratios)} epochs of {config.envs} hosts)")
    print(f"  trainer / bare loop    {middle:.3f}   (quartiles {low:.3f} to {high:.3f})")
    if not grown:
        whole = getattr(alternation.rounds, clock) / getattr(alternation.plain, clock)
        print(f"  with policy updates    {whole:.3f}")
    print(f"  env-steps/s            {config.envs / seconds:.1f}   (bare {config.envs / bare_seconds:.1f})")
    print(f"  images/s               {images / seconds:,.0f}   (bare {images / bare_seconds:,.0f})")
    peak = peak_multiply_adds(clock)
    rates = [work / spent / 1e9 for spent in (seconds, bare_seconds)]
    print(
        f"  multiply-adds/image    {work / images:,.0f}, forward and backward, over training and validation"
    )
    print(f"  10^9 multiply-adds/s   {rates[0]:.2f}   (bare {rates[1]:.2f}; matrix product {peak:.1f})")
    total = sum(alternation.phases.values())
    shares = "  ".join(f"{name} {part / total:.1%}" for name, part in alternation.phases.items())
    print(f"  phases, whole rounds   {shares}")


def multiply_adds(bare: BareLoop) -> int:
    """Of convolutions and matrix products in an epoch, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        bare.epoch()
    return counter.get_total_flops() // 2


def peak_multiply_adds(clock: str, side: int = 1024, repeats: int = 15) -> float:
    """Measure a product of two square matrices of float32 on this thread, in 10^9 multiply-adds/s."""
    left, right = torch.rand(side, side), torch.rand(side, side)
    watch = Stopwatch()
    spent = []
    for _ in range(repeats):
        torch.mm(left, right)
        spent.append(getattr(watch.lap(), clock))
    return side**3 / statistics.median(spent) / 1e9


def grow(task: TaskSpec) -> MorphogeneticModel:
    """A host with a held seed in every slot."""
    slots = SlotConfig(task.slots)
    model = create_model(task, slots, task.slots, generator=derive_generator(0, 0), device=CPU)
    for slot_id in task.slots:
        model.germinate(
            slot_id,
            SEED_BLUEPRINT,
            blend_mode=BlendMode.ADD,
            alpha_curve=AlphaCurve.LINEAR,
            tempo_epochs=3,
            alpha_target=1.0,
        )
    for _ in range(GROWN_EPOCH):
        model.record_epoch(0.5, {})
        for slot_id in task.slots:
            if model.slot(slot_id).stage is SeedStage.TRAINING:
                model.slot(slot_id).advance()
        model.step_epoch()
    return model.eval()


def compare_counterfactuals(task: TaskSpec, data: TrainingData, clock: str, repeats: int) -> None:
    """Print what eight configurations cost in plain validation passes."""
    model = grow(task)
    batches = list(SharedBatchIterator(data, task.batch_size, [CPU]))
    subsets = [
        dict.fromkeys(off, 0.0)
        for size in range(len(task.slots) + 1)
        for off in itertools.combinations(task.slots, size)
    ]
    passes: dict[str, Callable[[Tensor], object]] = {
        "plain": model,
        "fused": lambda inputs: model.fused_forward(inputs, subsets),
        "separate": lambda inputs: [model.fused_forward(inputs, [subset]) for subset in subsets],
    }
    spent: dict[str, list[float]] = {name: [] for name in passes}
    watch = Stopwatch()
    with torch.inference_mode():
        for _ in range(repeats):
            for name, forward in passes.items():
                watch.lap()
                for [(inputs, _)] in batches:
                    forward(inputs)
                spent[name].append(getattr(watch.lap(), clock))
        inputs = batches[0][0][0]
        fused = model.fused_forward(inputs, subsets)
        same = all(
            torch.equal(fused[index], model.fused_forward(inputs, [subset])[0])
            for index, subset in enumerate(subsets)
        )
    print(f"\n{len(subsets)} configurations in plain validation passes")
    for name in ("fused", "separate"):
        ratios = [ours / plain for ours, plain in zip(spent[name], spent["plain"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"  {name:22} {middle:.2f}   (quartiles {low:.2f} to {high:.2f})")
    print(f"  the same bits          {'yes' if same else 'NO'}")


def count_reads(config: TrainingConfig, task: TaskSpec) -> None:
    """Print how often the host reads from tensors in an epoch, whatever the number of envs."""
    print("\nhost-side reads per epoch")
    for envs in (1, 4, 16):
        reads = Reads(envs)
        small = config.replaced({"envs": envs, "rounds": 1, "episode_length": 14, "train_images": 64})
        with reads.counted():
            train(small, task, reads, SCRIPT)
        counts = sorted({after - before for before, after in itertools.pairwise(reads.marks)})
        print(f"  {envs:2} envs                {', '.join(str(count) for count in counts)}")


def main(argv: list[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="cifar_baseline")
    parser.add_argument("--envs", type=int, default=4)
    parser.add_argument("--episode-length", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--train-images", type=int, default=1024)
    parser.add_argument("--val-images", type=int, default=256)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument(
        "--clock", choices=("cpu", "wall"), default="wall", help="cpu: where other programs share the machine"
    )
    options = vars(parser.parse_args(argv))
    measured = options["rounds"] * (options["episode_length"] - GROWN_EPOCH)
    if measured < 2:
        parser.error(
            f"--episode-length {options['episode_length']}: seeds are grown by epoch {GROWN_EPOCH}, too few "
            f"epochs after it are left to compare; give at least {GROWN_EPOCH + 2}"
        )
    clock = options.pop("clock")
    torch.set_num_threads(1)
    keep_freed_memory()
    config = TrainingConfig(**options)
    task = get_task_spec(config.task)
    data = load_data(task, config.data_dir, train_images=config.train_images, val_images=config.val_images)
    compare(config, task, data, clock, grown=False)
    compare(config, task, data, clock, grown=True)
    compare_counterfactuals(task, data, clock, repeats=20)
    count_reads(config, task)
    return 0


if __name__ == "__main__":
    sys.exit(main())
