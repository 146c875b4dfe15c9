"""Shapes met when public repositories were read line by line before the checker was run on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codemods.hotpath import main
from tests.codemods.hotpath.test_other_code import told

STEP = """
import math
import torch
import torch.nn as nn
from torch.distributions import Beta, Categorical, Distribution, Normal

{head}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)

def main(envs, num_steps, args, keys):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = torch.zeros(num_steps).to(device)
    data = torch.randn(4, 4).to(device)
    first, kept, made = True, None, []
    for step in range(num_steps):
        x = model(data)
        loss = x.sum()
        loss.backward()
        optimizer.step()
        {code}
"""


def codes(code: str, head: str = "") -> set[tuple[str, str]]:
    """Codes and heats of what is found."""
    text = STEP.format(head=head, code=code.replace("\n", "\n        "))
    return {(found, heat) for found, _, heat in told(train=text)}


DRAWS = "class Fixed(Categorical):\n    def sample(self):\n        return super().sample().unsqueeze(-1)\n"
MASKED = """
class Masked(Categorical):
    def __init__(self, logits, masks=None):
        super(Masked, self).__init__(None, logits)

    def mode(self):
        return self.probs.argmax(-1)
"""


@pytest.mark.parametrize(
    ("code", "head", "found"),
    [
        ("Categorical(logits=x, validate_args=False).sample()", "", {"HP014"}),
        ("Normal(x, x.exp(), validate_args=False).sample()", "", {"HP014"}),
        ("Normal(x, x.exp(), validate_args=False).rsample()", "", set()),
        ("Beta(x, x, validate_args=False).sample()", "", set()),
        ("Normal(x, x).log_prob(x)", "Distribution.set_default_validate_args(False)", set()),
        ("Normal(x, x, validate_args=True).mean", "Normal.set_default_validate_args(False)", {"HP014"}),
        ("Fixed(logits=x, validate_args=False).sample()", DRAWS, {"HP014"}),
        ("Masked(x).mode()", MASKED, {"HP014"}),
        ("(Normal(x, x) if args.normal else Categorical(logits=x)).sample()", "", {"HP014"}),
    ],
)
def test_distributions(code: str, head: str, found: set[str]) -> None:
    assert {code for code, _ in codes(code, head)} == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("torch.empty(0).to(device)", set()),
        ("torch.tensor([]).to(device)", set()),
        ("torch.tensor(0.0).to(device)", {"HP015"}),
        ("torch.linspace(0, 1, 5).to(device)", {"HP015"}),
        ("rows[step] = torch.Tensor([1.0])", {"HP015"}),
        ("x.type(torch.FloatTensor)", {"HP005"}),
        ("x.type(torch.cuda.FloatTensor)", set()),
        ("mask = made_of(x)\nx[mask.transpose(0, 1)]", {"HP006"}),
        ("keep = torch.as_tensor(args.keep, dtype=torch.bool, device=device)\nx[~keep]", {"HP006"}),
        ("envs.single_action_space.nvec.tolist()", set()),
        ("args.accelerator.wait_for_everyone()", {"HP017"}),
        ("torch.from_file(args.path, False, 256)[0].item()", set()),
        ("loss in {loss, x}", set()),
        ("loss in [loss, x]", {"HP008"}),
        ('assert f"{args.name}_features" in x', set()),
    ],
)
def test_values(code: str, found: set[str]) -> None:
    assert {code for code, _ in codes(code)} == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('state = {"step": step, "loss": loss}\nif state["step"] > 2: pass', set()),
        ('state = {"step": step, "loss": loss}\nif state["loss"] > 2: pass', {"HP008"}),
        ('state = dict(step=step)\nstate["loss"] = loss\nmin(state["step"], 2)', set()),
        ('state = {}\nstate.update(step=step, loss=loss)\nif state.get("step"): pass', set()),
        ('state = {}\nstate.update(step=step, loss=loss)\nif state.get("loss"): pass', {"HP008"}),
        ('state = {**{"loss": loss}, "step": step}\nif state["step"] or state.pop("loss"): pass', {"HP008"}),
        ('state = {"a": step}\nfor key in keys: state[key] = loss\nif state["a"]: pass', {"HP008"}),
        ('state = made_of(x)\nstate["n"] = step\nmax(state.pop("n"), 1)', set()),
        ('state = {key: x for key in keys}\nstate["n"] = step\nmax(state.pop("n"), 1)', set()),
        ('def tell(**more):\n    if more["n"] > 1: pass\ntell(loss=loss, n=step)', set()),
        ('def tell(**more):\n    if more["loss"] > 1: pass\ntell(**{"loss": loss, "n": step})', {"HP008"}),
    ],
)
def test_what_is_under_a_key(code: str, found: set[str]) -> None:
    assert {code for code, _ in codes(code)} == found


@pytest.mark.parametrize(
    ("code", "heat"),
    [
        ("if step > args.most:\n    print(loss)\n    break", "every-n"),
        ("if not hasattr(args, 'kept'):\n    args.kept = loss.item()", "every-n"),
        ("if not hasattr(args, 'other'):\n    args.kept = loss.item()", "step"),
        ("if first:\n    first = False\n    print(loss)", "every-n"),
        ("if kept is None:\n    kept = loss.item()", "every-n"),
        ("if kept is None:\n    kept = loss.item()\nelse:\n    kept = None", "step"),
        ("accumulating = step % 4 != 0\nif not accumulating: print(loss)", "every-n"),
        ("if args.main and (step % 10 == 0 or step + 1 == len(keys)): print(loss)", "every-n"),
        ("count = step + 1\nif step % 10 == 0 or count == args.num_batches: print(loss)", "every-n"),
        ("def tell(due):\n    if due: print(loss)\ntell(step % 10 == 0)", "every-n"),
        ("def tell(due=True):\n    if due: print(loss)\ntell(due=(step + 1) % 10 == 0)", "every-n"),
        ("def tell(late=True):\n    if not late: print(loss)\ntell(late=step % 10 != 0)", "every-n"),
        ("def tell(due=True):\n    if due: print(loss)\ntell(due=step > 10)", "step"),
    ],
)
def test_how_often(code: str, heat: str) -> None:
    assert codes(code) == {("HP009" if "print" in code else "HP001", heat)}


def test_what_is_told_before_an_error_or_a_return_is_no_stall_of_a_loop_that_runs() -> None:
    guard = "value = loss.item()\nif not math.isfinite(value):\n    print(loss)\n    {end}"
    ends = "if args.strict:\n        raise ValueError(value)\n    else:\n        return"
    assert codes(guard.format(end=ends)) == {("HP001", "step")}
    assert codes(guard.format(end="if args.strict: kept = 1")) == {("HP001", "step"), ("HP009", "step")}


LOOPS = """
import torch

def moved(loader, device):
    for x in loader:
        yield x

def evaluate(model, val_loader, val_loader_iter, meter, device):
    {code}
"""


@pytest.mark.parametrize(
    "code",
    [
        "for x in meter.log_every(val_loader, 10): print(model(x).item())",
        "for n, x in enumerate(moved(val_loader, device)): print(model(x).item())",
        "for x in tqdm(meter.log_every(val_loader)): print(predict(model, x).item())",
        "while True:\n        x = next(val_loader_iter, None)\n        print(model(x).item())",
    ],
)
def test_loops_over_what_a_loader_gives(code: str) -> None:
    assert ("HP001", "step") in {(found, heat) for found, _, heat in told(train=LOOPS.format(code=code))}


def test_what_only_names_a_loader_is_no_loop_over_batches() -> None:
    assert not told(train=LOOPS.format(code="for name in names_of(val_loader): print(meter[name].item())"))


ENGINE = """
import torch

class Engine:
    def __init__(self, process):
        self.process, self.handlers = process, {"step": []}

    def on(self, event, handler):
        self.handlers[event].append(handler)

    def run(self, loader):
        for batch in loader:
            self.output = self.process(self, batch)
            for handler in self.handlers["step"]:
                handler(self)

def main(model, optimizer, loader):
    def process(engine, batch):
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        return loss if engine.quiet else loss.mean().item()

    def tell(engine):
        print(engine.output)

    engine = Engine(process)
    engine.on("step", tell)
    engine.run(loader)
"""


def test_functions_that_an_object_keeps() -> None:
    assert {text for _, text, _ in told(train=ENGINE)} == {"loss.mean().item()", "print(engine.output)"}


def test_a_loop_of_a_script_whose_object_trains_once_a_round() -> None:
    script = """
        import torch
        from agents import A2C, PPO

        def main(envs, args):
            agent = A2C(args) if args.a2c else PPO(args)
            agent = A2C(args)
            for j in range(args.rounds):
                for step in range(args.num_steps):
                    obs, reward, done, info = envs.step(agent.act(obs))
                agent.update(obs)

        if __name__ == "__main__":
            main(None, None)
    """
    agents = """
        import torch

        class A2C:
            def update(self, obs):
                loss = self.net(obs).sum()
                loss.backward()
                return loss.item()

        class PPO:
            def update(self, obs):
                return 0.0
    """
    assert ("HP001", "loss.item()", "step") in told(script=script, agents=agents)


SCREEN = """
import torch
from timm.utils import accuracy

def train(model: torch.nn.Module, loader, optimizer, meter):
    for step, x in enumerate(loader):
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        meter.add_unknown(accuracy(loss, x))
        if step % 10 == 0:
            print(loss.item(), loss.max().item())
"""


def test_the_last_line_says_what_is_not_shown_and_what_was_not_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(SCREEN)
    for more in ([], ["--output-format", "json"]):
        assert main([str(tmp_path), "--root", str(tmp_path), *more]) == 0  # the second is kept
    out = capsys.readouterr().out
    assert (
        "2 not (1 of something unknown, 1 of other packages); not shown: 2 every so many steps (--heat" in out
    )
    told = json.loads(out[out.index("{") :])
    assert told["less_hot"] == {"every-n": 2}
    assert [item["why"] for item in told["not_followed"]] == ["of something unknown", "of other packages"]


def test_the_state_of_an_optimizer_is_on_the_device() -> None:
    script = """
        import torch

        def train(model: torch.nn.Module, loader):
            optimizer = torch.optim.Adam(model.parameters())
            for x in loader:
                loss = model(x).sum()
                loss.backward()
                optimizer.step()
                torch.save(optimizer.state_dict(), "x.pt")
    """
    assert "HP016" in {code for code, _, _ in told(script=script)}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("act = torch.tanh if args.smooth else torch.relu\nif act(x).max() > 1: pass", {"HP008"}),
        ("pick = torch.nonzero if args.where else torch.relu\npick(x)", {"HP006"}),
        ("pick = torch.relu if args.where else torch.nonzero\npick(x)", {"HP006"}),
        ("pick = torch.relu if args.where else args.made_of\nif pick(x): pass", set()),
        ("made = nn.L1Loss if args.l1 else nn.MSELoss\nif made()(x, x) > 1: pass", {"HP008"}),
        ("act = torch.tanh if args.smooth else torch.relu\nif act(torch.ones(3)).max() > 1: pass", set()),
        ('print(("%s" * 2 + " of %s") % (1, *rows, 2))', {"HP009"}),
        ('print(("%s" * 2 + " of %s") % (1, *rows.shape, 2))', set()),
        ('("{}" + ": {}").format(step, loss)', {"HP009"}),
        ("table = np.zeros((9, 9))\ntable[step, x.argmax()] += 1", {"HP007"}),
        ("table = np.zeros((9, 9))\ntable[step, x.shape[0]] += 1", set()),
        ("low, high = (x > 0).T\nx[torch.stack((torch.ones_like(low), low, high))]", {"HP006"}),
        ("low = x > 0\nx[torch.stack((low, low)).clone()]", {"HP006"}),
        ("low = x > 0\nx[torch.stack((low.long(), low.long()))]", set()),
        ("x[torch.ones_like(x > 0, dtype=torch.long)]", set()),
        ("torchvision.ops.nms(x, x, 0.5)", {"HP014"}),
        ("if teacher_model(x) > 1: pass", {"HP008"}),
        ("if made_of_model(x.shape) > 1: pass", set()),
        ("def off(flat):\n    return model(x).item()\nscipy.optimize.minimize(off, keys)", {"HP001"}),
        ("def off(flat):\n    return model(x).item()\nothers.optimize.remember(off, keys)", set()),
    ],
)
def test_more_values(code: str, found: set[str]) -> None:
    head = "import numpy as np\nimport others\nimport scipy.optimize\nimport torchvision"
    assert {code for code, _ in codes(code, head)} == found


LAUNCHED = """
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

def main(data, net: nn.Module, metric):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(net, DataLoader(data))
    for batch in loader:
        loss = model(batch.to(accelerator.device)).sum()
        accelerator.backward(loss)
        {code}
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("pass", set()),
        ("batch = {name: part.to(accelerator.device) for name, part in batch.items()}", set()),
        ("print(batch['label'].sum())", {"HP009"}),
        ("first, second = accelerator.gather((loss, loss.shape))\nif first > 1: pass", {"HP008"}),
        ("first, second = accelerator.gather((loss, loss.shape))\nif second: pass", set()),
        ("accelerator.print(loss)", {"HP009"}),
        ("accelerator.print(loss.shape)", set()),
        ("accelerator.log({'loss': loss})", {"HP019"}),
        ("accelerator.save_state('x')", {"HP016"}),
        ("accelerator.check_trigger()", {"HP014"}),
        ("accelerator.wait_for_everyone()", {"HP017"}),
        ("metric.add_batch(predictions=loss)", {"HP014"}),
        ("metric.add_batch(predictions=3)", set()),
        ("for part in accelerator.unwrap_model(model).parameters():\n    print(part)", {"HP009"}),
    ],
)
def test_what_a_launcher_put_on_the_device(code: str, found: set[str]) -> None:
    for text in (LAUNCHED, LAUNCHED.replace("accelerator = Accelerator()", "accelerator = made_of(net)")):
        text = text.format(code=code.replace("\n", "\n        "))
        assert {code for code, _, _ in told(train=text)} == found


FABRIC = """
import lightning as L
from torch import nn
from torch.utils.data import DataLoader

def main(data, net: nn.Module, optimizer):
    fabric = L.Fabric()
    model, optimizer = fabric.setup(net, optimizer)
    loader = fabric.setup_dataloaders(DataLoader(data))
    for batch in loader:
        loss = model(batch).sum()
        fabric.backward(loss)
        {code}
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("if loss > batch.max(): pass", {"HP008"}),
        ("fabric.to_device(batch.shape)", set()),
        ("fabric.clip_gradients(model, optimizer, max_norm=1.0)", {"HP014"}),
        ("fabric.clip_gradients(model, optimizer, clip_val=1.0)", set()),
        ("fabric.clip_gradients(model, optimizer, max_norm=1.0, error_if_nonfinite=False)", set()),
        ("fabric.log('loss', loss)", {"HP019"}),
        ("fabric.log('step', 3)", set()),
    ],
)
def test_the_same_of_fabric(code: str, found: set[str]) -> None:
    assert {code for code, _, _ in told(train=FABRIC.format(code=code))} == found


THROUGH = """
import torch
from torch.utils.data import DataLoader
from others import TQDM

class Endless(DataLoader):
    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)

class Ahead:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        self.batches = iter(self.loader)
        return self

    def __next__(self):
        batch = next(self.batches).cuda(non_blocking=True)
        self.seen = batch.max().item()
        return batch

def main(data, model, device, flag):
    made = DataLoader if flag else Endless
    {code}
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("for x in Endless(data):\n        model(x.to(device)).sum().backward()", {"x.to(device)"}),
        ("for x in made(data):\n        model(x.to(device)).sum().backward()", {"x.to(device)"}),
        (
            "bar = TQDM(made(data))\n    for x in bar:\n        model(x.to(device)).backward()",
            {"x.to(device)"},
        ),
        ("for x in Ahead(data):\n        model(x).sum().backward()", {"batch.max().item()"}),
        ("for n, x in enumerate(Ahead(data)):\n        model(x).sum().backward()", {"batch.max().item()"}),
        ("seen = Ahead(data)\n    while True:\n        model(next(seen)).backward()", {"batch.max().item()"}),
        ("for x in Ahead(data):\n        print(model(x))", set()),
    ],
)
def test_objects_that_are_gone_through(code: str, found: set[str]) -> None:
    assert {text for _, text, heat in told(train=THROUGH.format(code=code)) if heat == "step"} == found


@pytest.mark.parametrize(
    ("code", "hot"),
    [
        ("bar = TQDM(val_loader)\n    for n, x in enumerate(bar): print(meter(x).item())", True),
        ("turns = enumerate(val_loader)\n    for n, x in turns: print(meter(x).item())", True),
        (
            "turns = val_loader\n    turns = names_of(turns)\n    for x in turns: print(meter(x).item())",
            False,
        ),
        ("size = len(val_loader)\n    for name in names_of(size): print(meter(name).item())", False),
    ],
)
def test_names_for_what_a_loader_gives(code: str, hot: bool) -> None:
    found = {(code, heat) for code, _, heat in told(train=LOOPS.format(code=code))}
    assert (("HP001", "step") in found) == hot


WRAPPED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, made):
        super().__init__()
        self.fc = nn.Sequential(*made)
        self.rest = nn.ModuleList()
        for _ in range(3):
            self.rest.append(nn.Linear(3, 3))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        x = self.fc(x)
        for part in self.rest:
            x = part(x)
        return x * self.scale

    def best(self, x):
        return self.forward(x).multinomial(1)

def main(made, loader: torch.utils.data.DataLoader, args):
    net = Net(made).to(args.device)
    optimizer = torch.optim.SGD(net.parameters())
    for x in loader:
        {code}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("if nn.DataParallel(net)(x).max() > 1: pass", {"HP008"}),
        ("if nn.parallel.DistributedDataParallel(module=net).train()(x).max() > 1: pass", {"HP008"}),
        ("print(nn.DataParallel(net).module.scale)", {"HP009"}),
        ("torch.save(nn.DataParallel(net).state_dict(), 'x.pt')", {"HP016"}),
        (
            "model = nn.DataParallel(net) if args.many else net\n        if model(x).max() > 1: pass",
            {"HP008"},
        ),
        ("if net(x.cuda(non_blocking=True)).max() > 1: pass", {"HP008"}),
        ("net.best(x.cuda(non_blocking=True))", {"HP014"}),
        ("net.best(x)", set()),
        ("if net(x).max() > 1: pass", set()),
        ("if net.scale.max() > 1: pass", {"HP008"}),
    ],
)
def test_where_a_module_works(code: str, found: set[str]) -> None:
    assert {found for found, _, heat in told(train=WRAPPED.format(code=code)) if heat == "step"} == found


HOOKED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        {inside}

    def note(self, module, inputs, output):
        self.last = output.mean().item()

    def forward(self, x):
        return self.fc(x)

def main(data):
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters())
    {outside}
    for step in range(100):
        model(data).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("inside", "outside", "found"),
    [
        ("self.fc.register_forward_hook(self.note)", "pass", {"output.mean().item()"}),
        ("pass", "model.register_forward_hook(model.note)", {"output.mean().item()"}),
        ("pass", "for p in model.parameters(): p.register_hook(lambda grad: print(grad))", {"print(grad)"}),
        ("pass", "model.note(model, None, model(data))", set()),
        ("pass", "pass", set()),
    ],
)
def test_hooks_run_with_their_module(inside: str, outside: str, found: set[str]) -> None:
    text = HOOKED.format(inside=inside, outside=outside)
    assert {text for _, text, heat in told(train=text) if heat == "step"} == found
