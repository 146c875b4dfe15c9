"""What other people's training code is written like, small: what is told of it, and how often it happens."""

from __future__ import annotations

from textwrap import dedent

import pytest

from codemods.hotpath.config import Config
from codemods.hotpath.engine import analyse
from codemods.hotpath.results import HEATS
from codemods.hotpath.trees import name_file
from tests.codemods.hotpath.conftest import Project

Site = tuple[str, str, str]


def told(packages: tuple[str, ...] = (), **files: str) -> set[Site]:
    """Code, text and heat of what is found in files; two underscores in a name are a slash."""
    texts = {f"{name.replace('__', '/')}.py": dedent(text) for name, text in files.items()}
    texts |= {f"{folder}/__init__.py": "" for folder in packages}
    read = [name_file(path, text.encode(), packages.__contains__) for path, text in sorted(texts.items())]
    report = analyse(read, Config(heat=tuple(HEATS)))
    return {(f.code, f.text, str(f.heat)) for f in report.findings if f.heat != "once"}


LOOP = """
    import torch
    {imported}

    def train(model, loader, optimizer):
        for batch in loader:
            loss = model(batch)
            loss.backward()
            optimizer.step()
            {call}
"""
NORM = "def norm(model):\n    return sum(p.grad.norm() for p in model.parameters()).item()\n"
READ = ("HP001", "sum((p.grad.norm() for p in model.parameters())).item()", "step")


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("import helpers.misc as misc", "misc.norm(model)"),
        ("import helpers.misc", "helpers.misc.norm(model)"),
        ("from helpers import misc", "misc.norm(model)"),
        ("from helpers.misc import norm", "norm(model)"),
    ],
)
def test_a_folder_without_an_init_file_is_a_package(imported: str, call: str) -> None:
    train = LOOP.format(imported=imported, call=call)
    assert READ in told(train=train, helpers__misc=NORM)
    assert READ in told(work__train=train, work__helpers__misc=NORM)


def test_so_is_one_inside_a_package() -> None:
    train = LOOP.format(imported="from ..tools.misc import norm", call="norm(model)")
    files = {"lib__loops__train": train, "lib__tools__misc": NORM}
    assert READ in told(("lib",), **files)
    assert READ in told(("src/lib",), **{f"src__{name}": text for name, text in files.items()})


def test_a_script_imports_what_stands_beside_it() -> None:
    train = LOOP.format(imported="from misc import norm", call="norm(model)")
    quiet = "def norm(model):\n    return 0.0\n"
    assert READ in told(b__train=train, b__misc=NORM, a__misc=quiet, misc=quiet)
    assert READ not in told(b__train=train, b__misc=quiet, a__misc=NORM, misc=NORM)


def test_what_the_standard_library_has_is_not_taken_from_a_package() -> None:
    train = LOOP.format(imported="import copy", call="copy.copy(model)")
    mine = "def copy(model):\n    return model.weight.item()\n"
    assert not told(("lib",), lib__train=train, lib__copy=mine)


STEPS = """
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader

    def divides(number, by):
        return number % by == 0

    class Trainer:
        def due(self):
            if self.step % self.often == 0:
                return True
            return False

        def mostly(self):
            if self.step % self.often == 0:
                return False
            return True

        def train(self, env, model: torch.nn.Module, optimizer, meter, total_steps, verbose, cancelled):
            loader = StatefulDataLoader(self.data)
            for step in range(total_steps):
                batch = next(iter(loader))
                loss = model(batch["x"].cuda(non_blocking=True))
                loss.backward()
                optimizer.step()
                {code}
"""


@pytest.mark.parametrize(
    "test",
    [
        "divides(step, 100)",
        "step > 0 and divides(step, 100)",
        "self.due()",
        "step % 100 == 0 or step == total_steps - 1",
        "step % 100 == 0 or step >= total_steps",
        "step % 100 == 0 or cancelled",
        "not self.quiet and (self.is_last_step or step % 100 == 0)",
    ],
)
def test_every_so_many_steps(test: str) -> None:
    assert told(train=STEPS.format(code=f"if {test}: print(loss.item())")) == {
        ("HP001", "loss.item()", "every-n")
    }
    named = STEPS.format(code=f"now = {test}\n                if now: print(loss.item())")
    assert told(train=named) == {("HP001", "loss.item()", "every-n")}


@pytest.mark.parametrize("test", ["not divides(step, 100)", "self.mostly()", "step % 100 == 0 or verbose"])
def test_other_tests_hold_in_most_steps_or_may(test: str) -> None:
    assert told(train=STEPS.format(code=f"if {test}: print(loss.item())")) == {
        ("HP001", "loss.item()", "step")
    }


TICKS = """
    import time
    import torch

    def train(model, loader, optimizer, total, many, best, verbose):
        seen = begun = tick = count = 0
        due = many
        last = time.time()
        batches = iter(loader)
        while True:
            loss = model(next(batches))
            loss.backward()
            optimizer.step()
            seen += len(loss)
            count += 1
            now = time.time()
            done = seen >= total
            score = evaluate(model)
            {code}
            if done:
                break
"""


@pytest.mark.parametrize(
    "code",
    [
        "if not done and tick != 0 and seen < begun + many: continue\n"
        "    print(loss.item())\n    begun = seen\n    tick += 1",
        "if seen >= begun + many:\n        print(loss.item())\n        begun = seen",
        "if now - last > 60:\n        print(loss.item())\n        last = now",
        "if time.time() - last > 60:\n        print(loss.item())\n        last = time.time()",
        "if seen >= due:\n        due += many\n        print(loss.item())",
        "if count == 100:\n        count = 0\n        print(loss.item())",
    ],
)
def test_a_count_or_a_clock_that_begins_anew_is_rare(code: str) -> None:
    train = TICKS.format(code=code.replace("\n    ", "\n            "))
    assert told(train=train) == {("HP001", "loss.item()", "every-n")}


@pytest.mark.parametrize(
    "code",
    [
        "if score > best:\n        best = score\n        print(loss.item())",
        "if verbose and now - last < 60: continue\n    print(loss.item())\n    last = now",
        "if seen >= begun:\n        print(loss.item())",
        "begun = 0\n    if seen >= begun + many:\n        print(loss.item())\n        begun = seen",
    ],
)
def test_what_is_no_count_may_hold_in_every_step(code: str) -> None:
    train = TICKS.format(code=code.replace("\n    ", "\n            "))
    assert told(train=train) == {("HP001", "loss.item()", "step")}


METER = """
    import torch

    class Meter:
        def update(self, **values):
            for name, value in values.items():
                if isinstance(value, torch.Tensor):
                    value = value.item()
                self.sums[name] = value
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("for name, part in batch.items(): batch[name] = part.to('cuda')", {("HP015", "part.to('cuda')")}),
        ("batch['x'] = batch['x'].to('cuda')", {("HP015", "batch['x'].to('cuda')")}),
        ("for name in batch: batch[name] = batch[name].cuda()", {("HP015", "batch[name].cuda()")}),
        (
            "batch[0] = batch[0].cuda(0, non_blocking=True); batch[1] = batch[1].to(0, non_blocking=True)",
            set(),
        ),
        (
            "batch[0] = batch[0].cuda(); batch[1] = batch[1].cuda()",
            {("HP015", "batch[0].cuda()"), ("HP015", "batch[1].cuda()")},
        ),
        ("self.rows[step] = env.action_space.sample()", set()),
        ("meter.synchronize_between_processes()", set()),
        ("Meter().update(lr=optimizer.param_groups[0]['lr'], n=1)", set()),
        ("Meter().update(loss=loss)", {("HP001", "value.item()")}),
    ],
)
def test_what_is_told_of_a_step(code: str, found: set[tuple[str, str]]) -> None:
    train = STEPS.format(code=code).replace(
        "import torch\n", "import torch\n    from meter import Meter\n", 1
    )
    buffer = """
        class Dice:
            def sample(self):
                return torch.rand(6, device="cuda")
    """
    assert {site[:2] for site in told(train=train, meter=METER, buffer=buffer)} == found


AVERAGE = """
    import torch

    class Meter:
        def __init__(self):
            self.total, self.count = 0, 0

        def update(self, value):
            self.total += value
            self.count += 1

        def value(self):
            return self.total / max(1, self.count)

    class Logger:
        def __init__(self):
            self.meter = Meter()

        def log(self, value):
            {test}
            self.meter.update(value)

        def dump(self):
            print(f"{{self.meter.value():.3f}}")
"""


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("if type(value) == torch.Tensor: value = value.item()", {"value.item()"}),
        ("value = value.item() if type(value) is torch.Tensor else value", {"value.item()"}),
        ("if type(value) != torch.Tensor: pass", {"meter.value()"}),
    ],
)
def test_the_average_of_what_was_read_is_a_number(test: str, found: set[str]) -> None:
    train = STEPS.format(code="logger.log(loss); logger.log(1.0); logger.dump()").replace(
        "import torch\n", "import torch\n    from meter import Logger\n    logger = Logger()\n", 1
    )
    assert {site[1] for site in told(train=train, meter=AVERAGE.format(test=test))} == found


@pytest.mark.parametrize("mask", ["(u > 0) * (l == u)", "(u > 0) + (l == u)", "(u > 0) * ~(l == u)"])
def test_of_masks_a_product_or_a_sum_is_one(mask: str) -> None:
    code = f"l, u = loss.floor(), loss.ceil(); l[{mask}] -= 1"
    assert {site[0] for site in told(train=STEPS.format(code=code))} == {"HP006"}
    harmless = "l, u = loss.floor(), loss.ceil(); k = l[(u > 0) * 2]"
    assert told(train=STEPS.format(code=harmless)) == set()


DRAWN = """
    from torch import distributions as pyd

    class Truncated(pyd.Normal):
        def __init__(self, loc, scale):
            super().__init__(loc, scale{said})
"""


@pytest.mark.parametrize(
    ("code", "said", "found"),
    [
        ("dist = agent.act(batch); p = dist.log_prob(loss)", "", {"dist.log_prob(loss)"}),
        ("dist = agent.act(batch); p = dist.entropy()", "", set()),
        ("one = Truncated(loss, loss.abs()); p = one.log_prob(loss)", ", validate_args=False", set()),
        (
            "one = Truncated(loss, loss.abs()); p = one.log_prob(loss)",
            "",
            {"super().__init__(loc, scale)", "one.log_prob(loss)"},
        ),
    ],
)
def test_what_a_distribution_is_asked_for_is_looked_at(code: str, said: str, found: set[str]) -> None:
    train = STEPS.format(code=code).replace(
        "import torch\n", "import torch\n    from drawn import Truncated\n    from agents import agent\n", 1
    )
    assert {site[1] for site in told(train=train, drawn=DRAWN.format(said=said))} == found


CORE = """
    import torch

    class ActorCritic(torch.nn.Module):
        def step(self, obs):
            a = self.pi(obs)
            return a.numpy(), a.mean().item()
"""


def test_a_class_that_a_parameter_has_as_its_default() -> None:
    train = """
        import core
        import numpy as np
        import torch

        class Buffer:
            def __init__(self):
                self.rows = np.zeros(10)

            def store(self, row):
                self.rows[0] = row

        def train(env, actor_critic=core.ActorCritic, num_steps=10):
            ac = actor_critic(env.observation_space, env.action_space)
            buffer = Buffer()
            for step in range(num_steps):
                action, mean = ac.step(torch.as_tensor(obs))
                obs, reward, done, _ = env.step(action)
                buffer.store(action)
    """
    assert told(train=train, core=CORE) == {("HP001", "a.mean().item()", "step")}


def test_a_helper_that_many_callers_give_different_things() -> None:
    move = "def move(batch, more):\n    for k, value in batch.items():\n        batch[k] = value.to('cuda')\n"
    loops = {
        f"train{number:02}": LOOP.format(
            imported="from move import move", call=f"move({{}}, {'[' * number}1{']' * number})"
        )
        for number in range(10)
    }
    last = LOOP.format(imported="from move import move", call="move(batch, None)")
    loops["train_last"] = last.replace("in loader", "in torch.utils.data.DataLoader(loader)")
    assert ("HP015", "value.to('cuda')", "step") in told(move=move, **loops)


def test_a_loop_whose_steps_are_a_method() -> None:
    trainer = """
        import torch

        class Trainer:
            def update(self, batch):
                loss = self.model(batch).sum()
                loss.backward()
                self.optimizer.step()
                return loss.item()

            def run(self):
                for index in range(len(self.rows)):
                    self.update(self.rows[index])
    """
    assert told(trainer=trainer) == {("HP001", "loss.item()", "step")}


def test_a_loop_whose_steps_are_a_method_of_a_derived_class() -> None:
    base = """
        import torch

        class Base:
            def update(self, batch):
                raise NotImplementedError

            def run(self):
                for index in range(len(self.rows)):
                    self.update(self.rows[index])
    """
    agent = """
        import torch
        from base import Base

        class Agent(Base):
            def update(self, batch):
                return self.learn(batch).item()

            def learn(self, batch):
                loss = self.model(batch).sum()
                loss.backward()
                self.optimizer.step()
                return loss
    """
    assert told(base=base, agent=agent) == {("HP001", "learn(batch).item()", "step")}


def test_a_loop_over_batches_with_a_loop_over_steps_in_what_it_calls() -> None:
    task = """
        import torch

        class Task:
            def generate(self, batch):
                for step in range(self.num_steps):
                    self.optimizer.step()

            def run(self, loader):
                for batch in loader:
                    self.generate(batch)
                    print(self.model(batch).sum().item())
    """
    assert told(task=task) == {("HP001", "model(batch).sum().item()", "step")}


def test_a_dict_of_what_is_nested_deep_is_followed(project: Project) -> None:
    made = "".join(f"    print({{name: {'[' * n}x{']' * n} for name in names}})\n" for n in range(1, 20))
    project.write(train=f"def train(names, x):\n{made}    for env in envs:\n        x.item()\n")
    assert project.run("--quiet") == 1
