"""Five repositories as people have them, tiny. None knows this project."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Foreign:
    """A repository, its files that git ignores, and changes as (file, before, after)."""

    files: dict[str, str]
    ignored: dict[str, str]
    behaviour: tuple[str, str, str]
    stall: tuple[str, str, str]
    refactoring: tuple[str, str, str]


OPTIONS = '''\
"""Command lines from dataclasses."""

import argparse
import dataclasses


def cli(kind):
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(kind):
        name = "--" + field.name.replace("_", "-")
        if field.type is bool:
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(name, type=field.type, default=field.default)
    return kind(**vars(parser.parse_args()))
'''
PPO = '''\
import csv
import os
import random
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

from options import cli


@dataclass
class Args:
    exp_name: str = "ppo"
    """the name of this experiment"""
    seed: int = 1
    torch_deterministic: bool = True
    cuda: bool = True
    track: bool = False
    total_timesteps: int = 500000
    learning_rate: float = 2.5e-3
    num_envs: int = 4
    num_steps: int = 8
    gamma: float = 0.99


class Env:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def reset(self):
        self.left = 5
        return self.random.normal(size=3).astype(np.float32)

    def step(self, action):
        self.left -= 1
        return self.random.normal(size=3).astype(np.float32), float(action), self.left == 0


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        self.critic = nn.Linear(3, 1)


if __name__ == "__main__":
    args = cli(Args)
    run_name = f"{args.exp_name}__{args.seed}"
    os.makedirs(f"runs/{run_name}", exist_ok=True)
    log = open(f"runs/{run_name}/metrics.csv", "w")
    writer = csv.writer(log)
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() and args.cuda else "cpu")
    envs = [Env(args.seed + i) for i in range(args.num_envs)]
    agent = Agent().to(device)
    optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    obs = [env.reset() for env in envs]
    start_time = time.time()
    for iteration in range(args.total_timesteps // (args.num_envs * args.num_steps)):
        logps, values, rewards = [], [], []
        for step in range(args.num_steps):
            state = torch.tensor(np.stack(obs), device=device)
            dist = torch.distributions.Categorical(logits=agent.actor(state))
            actions = dist.sample()
            logps.append(dist.log_prob(actions))
            values.append(agent.critic(state).squeeze(-1))
            chosen = actions.tolist()
            reward = []
            for i, env in enumerate(envs):
                obs[i], r, done = env.step(chosen[i])
                if done:
                    obs[i] = env.reset()
                reward.append(r)
            rewards.append(torch.tensor(reward, device=device))
        returns, running = [], torch.zeros(args.num_envs, device=device)
        for r in reversed(rewards):
            running = r + args.gamma * running
            returns.insert(0, running)
        advantage = torch.stack(returns) - torch.stack(values)
        loss = advantage.square().mean() - (torch.stack(logps) * advantage.detach()).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
        writer.writerow([iteration, loss.item()])
    print("SPS:", int(args.total_timesteps / (time.time() - start_time)))
    log.close()
'''
RL = Foreign(
    files={
        "ppo.py": PPO,
        "options.py": OPTIONS,
        "enjoy.py": "import torch\n\nif __name__ == '__main__':\n    print(torch.load('agent.pt'))\n",
        ".gitignore": "runs\n*.pt\n",
    },
    ignored={},
    behaviour=("ppo.py", "running = r + args.gamma * running", "running = r + running"),
    stall=("ppo.py", "reward.append(r)", "reward.append(r + 0 * values[-1][i].item())"),
    refactoring=(
        "ppo.py",
        """\
        for r in reversed(rewards):
            running = r + args.gamma * running
            returns.insert(0, running)
""",
        """\
        for step in range(len(rewards) - 1, -1, -1):
            running = rewards[step] + args.gamma * running
            returns = [running, *returns]
""",
    ),
)

GPT_TRAIN = """\
import os
import time

import numpy as np
import torch

from model import GPT

# I/O
out_dir = 'out'
eval_interval = 2000
log_interval = 1
eval_iters = 200
# data
dataset = 'letters'
batch_size = 4
block_size = 8
# adamw
learning_rate = 6e-3
max_iters = 600000
grad_clip = 1.0
# system
device = 'cuda'
compile = True
config_keys = [k for k, v in globals().items() if isinstance(v, (int, float, bool, str))]
exec(open('configurator.py').read())

os.makedirs(out_dir, exist_ok=True)
torch.manual_seed(1337)
data_dir = os.path.join('data', dataset)


def get_batch(split):
    data = np.memmap(os.path.join(data_dir, f'{split}.bin'), dtype=np.uint8, mode='r')
    ix = torch.randint(len(data) - block_size - 1, (batch_size,))
    x = torch.stack([torch.from_numpy(data[i:i + block_size].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + block_size].astype(np.int64)) for i in ix])
    return x.to(device), y.to(device)


model = GPT(block_size)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
if compile:
    model = torch.compile(model)


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ['train', 'val']:
        losses = torch.zeros(eval_iters)
        for k in range(eval_iters):
            losses[k] = model(*get_batch(split))[1].item()
        out[split] = losses.mean()
    model.train()
    return out


iter_num = 0
t0 = time.time()
while True:
    if iter_num % eval_interval == 0:
        losses = estimate_loss()
        print(f"step {iter_num}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    X, Y = get_batch('train')
    logits, loss = model(X, Y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    t1 = time.time()
    dt = t1 - t0
    t0 = t1
    if iter_num % log_interval == 0:
        print(f"iter {iter_num}: loss {loss.item():.4f}, time {dt*1000:.2f}ms")
    iter_num += 1
    if iter_num > max_iters:
        break
torch.save({'model': model.state_dict(), 'iter_num': iter_num}, os.path.join(out_dir, 'ckpt.pt'))
"""
GPT_MODEL = """\
import torch
from torch import nn
from torch.nn import functional as F


class GPT(nn.Module):
    def __init__(self, block_size):
        super().__init__()
        self.wte = nn.Embedding(26, 8)
        self.wpe = nn.Embedding(block_size, 8)
        self.head = nn.Linear(8, 26)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device))
        logits = self.head(F.gelu(x))
        return logits, F.cross_entropy(logits.view(-1, 26), targets.view(-1))
"""
CONFIGURATOR = """\
import sys
from ast import literal_eval

for arg in sys.argv[1:]:
    key, val = arg[2:].split('=')
    if key not in globals():
        raise ValueError(f"Unknown config key: {key}")
    try:
        globals()[key] = literal_eval(val)
    except (SyntaxError, ValueError):
        globals()[key] = val
"""
LETTERS = "".join(chr(i * i % 26) for i in range(400))
GPT = Foreign(
    files={
        "train.py": GPT_TRAIN,
        "model.py": GPT_MODEL,
        "configurator.py": CONFIGURATOR,
        "sample.py": "import torch\n\nprint(torch.load('out/ckpt.pt'))\n",
        ".gitignore": "__pycache__/\n*.pt\n*.bin\ndata/\nout/\n*.json\n",
    },
    ignored={"data/letters/train.bin": LETTERS, "data/letters/val.bin": LETTERS[::-1]},
    behaviour=("train.py", "data[i + 1:i + 1 + block_size]", "data[i:i + block_size]"),
    stall=("train.py", "    optimizer.step()\n", "    optimizer.step()\n    best = min(9.0, loss.item())\n"),
    refactoring=(
        "train.py",
        "    t1 = time.time()\n    dt = t1 - t0\n    t0 = t1\n",
        "    t0, dt = time.time(), time.time() - t0\n",
    ),
)

CLICK = '''\
import json
from pathlib import Path

import click
import torch

from vision.loop import train_epoch
from vision.model import build


@click.group()
def main():
    """Image models."""


@main.command()
@click.option("--checkpoint", required=True)
def evaluate(checkpoint):
    print(torch.load(checkpoint))


@main.command()
@click.option("--epochs", default=90)
@click.option("--lr", default=0.1)
@click.option("--seed", default=0)
@click.option("--output-dir", default="results")
@click.option("--device", default="cuda")
@click.option("--workers", default=8)
@click.option("--compile/--no-compile", default=True)
def fit(epochs, lr, seed, output_dir, device, workers, compile):
    torch.manual_seed(seed)
    model = build().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    with (Path(output_dir) / "log.jsonl").open("w") as log:
        for epoch in range(epochs):
            loss = train_epoch(model, optimizer, device)
            log.write(json.dumps({"event": "epoch", "epoch": epoch, "loss": loss}) + "\\n")


if __name__ == "__main__":
    main()
'''
LOOP = """\
import torch
from torch.nn import functional as F


def train_epoch(model, optimizer, device):
    total = torch.zeros((), device=device)
    for _ in range(3):
        images, labels = torch.randn(4, 3, 4, 4, device=device), torch.randint(2, (4,), device=device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item() / 3
"""
PACKAGE = Foreign(
    files={
        "pyproject.toml": '[project]\nname = "vision"\nversion = "1"\n',
        "src/vision/__init__.py": "",
        "src/vision/__main__.py": "from vision.cli import main\n\nmain()\n",
        "src/vision/cli.py": CLICK,
        "src/vision/loop.py": LOOP,
        "src/vision/model.py": (
            "from torch import nn\n\n\ndef build():\n"
            "    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2))\n"
        ),
        ".gitignore": "__pycache__/\nresults/\n",
    },
    ignored={},
    behaviour=("src/vision/loop.py", "total.item() / 3", "total.item() / 4"),
    stall=("src/vision/loop.py", "total += loss.detach()", "total += loss.item()"),
    refactoring=(
        "src/vision/loop.py",
        "        loss = F.cross_entropy(model(images), labels)\n",
        "        scores = model(images)\n        loss = F.cross_entropy(scores, labels)\n",
    ),
)

LITE = '''\
"""A small trainer: modules say what a step is, this says when."""

import torch


class LiteModule(torch.nn.Module):
    def log(self, name, value):
        self.logged[name] = value


class Trainer:
    def __init__(self, max_epochs, accelerator="auto"):
        self.max_epochs, self.accelerator = max_epochs, accelerator

    def fit(self, module, batches):
        optimizer = module.configure_optimizers()
        module.logged = {}
        for epoch in range(self.max_epochs):
            for index, batch in enumerate(batches):
                loss = module.training_step(batch, index)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            shown = ", ".join(f"{name} {value.item():.6f}" for name, value in module.logged.items())
            print(f"epoch {epoch}: {shown}")
'''
TASK = """\
import argparse

import torch
from torch.nn import functional as F

from lite import LiteModule, Trainer


class Regression(LiteModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self.net(x), y)
        self.log("train_loss", loss.detach())
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_epochs", type=int, default=100)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--accelerator", default="auto")
    args = parser.parse_args()
    torch.manual_seed(42)
    batches = [(torch.randn(6, 4), torch.randn(6, 1)) for _ in range(3)]
    Trainer(max_epochs=args.max_epochs, accelerator=args.accelerator).fit(Regression(args.lr), batches)


main()
"""
LIGHTNING = Foreign(
    files={"lite.py": LITE, "task.py": TASK, ".gitignore": "__pycache__/\ngolden\n"},
    ignored={},
    behaviour=("task.py", "F.mse_loss(self.net(x), y)", "F.l1_loss(self.net(x), y)"),
    stall=(
        "task.py",
        "        return loss\n",
        "        if loss > 1e9:\n            raise ValueError\n        return loss\n",
    ),
    refactoring=(
        "task.py",
        "    def training_step(self, batch, batch_idx):\n        x, y = batch\n"
        "        loss = F.mse_loss(self.net(x), y)\n",
        "    def compare(self, x, y):\n        return F.mse_loss(self.net(x), y)\n\n"
        "    def training_step(self, batch, batch_idx):\n        loss = self.compare(*batch)\n",
    ),
)

# Not with DistributedDataParallel: torch's backward pass leaves Python objects in gloo's threads, and a group
# that is destroyed then waits for a thread that waits for the interpreter, now and then for ever.
DDP = """\
import argparse
import os

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, help="a file of numbers")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--backend", default="nccl")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    dist.init_process_group(args.backend)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.manual_seed(args.seed)
    data = torch.tensor([float(line) for line in open(args.data)])
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(args.steps):
        x = data.roll(step).view(-1, 4)[rank::world]
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= world
        optimizer.step()
    if rank == 0:
        print(f"loss {loss.item():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
DISTRIBUTED = Foreign(
    files={
        "main_ddp.py": DDP,
        "numbers.txt": "".join(f"{i % 7 / 7}\n" for i in range(32)),
        ".gitignore": "__pycache__/\n",
    },
    ignored={},
    behaviour=("main_ddp.py", "[rank::world]", "[::world]"),
    stall=(
        "main_ddp.py",
        "        loss.backward()\n",
        "        loss.backward()\n        last = loss.item()\n",
    ),
    refactoring=(
        "main_ddp.py",
        "        x = data.roll(step).view(-1, 4)[rank::world]\n",
        "        rows = data.roll(step).view(-1, 4)\n        x = rows[rank::world]\n",
    ),
)
