"""How well the trainer's agent learns small problems, beside a PPO in the usual manner.

python -m benchmarks.agent [--seeds N] [--rounds R] [--toys contextual,memory] [--jobs N]
"""

from __future__ import annotations

import multiprocessing
import statistics
from concurrent.futures import ProcessPoolExecutor

import click
import torch
from torch import Generator, Tensor

from benchmarks.reference_ppo import Reference
from benchmarks.toys import CONTEXTS, ENVS, TOYS, WIDTH, Episode, Learner, Toy, right_contexts, score
from esper.leyline import HEAD_INDEX, LifecycleOp, SlotConfig, head_sizes
from esper.simic.agent import PPOAgent, PPOConfig, RolloutBuffer
from esper.tamiyo import feature_size

SLOTS = SlotConfig()


class OperationLearner:
    """The trainer's agent, which answers with its operation; all choices are legal."""

    def __init__(self, seed: int, config: PPOConfig | None = None) -> None:
        self.agent = PPOAgent(SLOTS, config, seed=seed)
        self.noise = [Generator().manual_seed(1000 * seed + env) for env in range(ENVS)]

    def play(self, toy: Toy, generator: Generator) -> None:
        """Play one round and learn from it."""
        episode = toy(ENVS, generator)
        steps = len(episode.observations)
        buffer = RolloutBuffer(ENVS, steps, SLOTS)
        made = self._act(episode, buffer)
        for step, rewards in enumerate(episode.rewards(made).tolist()):
            buffer.set_rewards(step, rewards, dones=[step == steps - 1] * ENVS)
        self.agent.update(buffer, torch.zeros(ENVS))

    def choose(self, episode: Episode) -> Tensor:
        """The most likely choices in an episode."""
        return self._act(episode, None)

    def _act(self, episode: Episode, buffer: RolloutBuffer | None) -> Tensor:
        envs = episode.observations.shape[1]
        hidden, made = self.agent.initial_hidden(envs), []
        masks = {name: torch.ones(envs, size).bool() for name, size in head_sizes(SLOTS.num_slots).items()}
        masks["slot"] = torch.ones(envs, len(LifecycleOp), SLOTS.num_slots).bool()
        for step, seen in enumerate(episode.observations):
            features = torch.zeros(envs, feature_size(SLOTS))
            features[:, :WIDTH] = seen
            noise = None if buffer is None else self.agent.draw_noise(self.noise)
            batch = self.agent.get_action(features, masks, hidden, noise)
            hidden = batch.hidden
            if buffer is not None:
                buffer.add(step, features, masks, batch)
            made.append(batch.actions[:, HEAD_INDEX["op"]])
        return torch.stack(made)


def trained(learner: Learner, toy: Toy, *, seed: int, rounds: int) -> Learner:
    """A learner after some rounds of a toy."""
    generator = Generator().manual_seed(seed)
    for _ in range(rounds):
        learner.play(toy, generator)
    return learner


def measured(job: tuple[str, str, int, int]) -> tuple[float, int]:
    """Mean reward, and contexts that are right, of one learner after its training."""
    name, who, seed, rounds = job
    torch.set_num_threads(1)
    learner: Learner = OperationLearner(seed) if who == "esper" else Reference(seed, rounds)
    trained(learner, TOYS[name], seed=seed, rounds=rounds)
    right = right_contexts(learner) if name == "contextual" else 0
    return score(learner, TOYS[name], seed=99), right


@click.command()
@click.option("--seeds", default=10, show_default=True)
@click.option("--rounds", default=150, show_default=True)
@click.option("--toys", default=",".join(TOYS), show_default=True)
@click.option("--jobs", default=1, show_default=True, help="Processes side by side, a thread each.")
def main(seeds: int, rounds: int, toys: str, jobs: int) -> None:
    """Print, for both learners, the mean reward of the most likely choices, and contexts that are right."""
    pairs = [(name, who) for name in toys.split(",") for who in ("esper", "reference")]
    work = [(name, who, seed, rounds) for name, who in pairs for seed in range(seeds)]
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = iter(pool.map(measured, work))
        for name, who in pairs:
            results = [next(found) for _ in range(seeds)]
            scores = [value for value, _ in results]
            line = f"{name:11} {who:10} reward {statistics.fmean(scores):6.2f}  lowest {min(scores):6.2f}"
            if name == "contextual":
                line += f"  contexts right {[right for _, right in results]} of {CONTEXTS}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
