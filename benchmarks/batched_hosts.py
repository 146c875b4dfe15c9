"""Hosts of one shape trained as one: does it give 1.5 times the speed of one after the other?

    python benchmarks/batched_hosts.py [--hosts 16,64] [--repeat N]

Three forms of one training step (forward, backward, SGD with momentum) of N hosts of the shape of
`cifar_baseline`, each on its own batch of 64 images, on one thread: one after the other, as grouped
convolutions over stacked channels, and by `torch.func.vmap` over stacked parameters. They take turns; printed
is the median of processor time per host.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap
from torch.nn import functional as F

WIDTHS, BATCH, CLASSES = (8, 16, 32), 64, 10


def make_host(groups: int = 1) -> nn.Sequential:
    """The trainer's host without its classifier, or the layers of several beside each other."""
    sizes = [groups * width for width in (3, *WIDTHS)]

    def convolution(index: int, stride: int = 1) -> nn.Conv2d:
        return nn.Conv2d(
            sizes[index], sizes[index + 1], 3, stride=stride, padding=1, bias=False, groups=groups
        )

    norms = [nn.BatchNorm2d(size, track_running_stats=False) for size in sizes[1:]]
    return nn.Sequential(
        *(convolution(0, stride=2), norms[0], nn.ReLU()),
        *(convolution(1), nn.MaxPool2d(2), norms[1], nn.ReLU()),
        *(nn.MaxPool2d(2), convolution(2), norms[2], nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
    )


def step(loss: Tensor, parameters: list[Tensor], optimizer: torch.optim.Optimizer) -> None:
    """Backward pass and update."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def separate(hosts: int, images: Tensor, labels: Tensor) -> Callable[[], None]:
    """Train the hosts one after the other, as the trainer does."""
    models = [
        nn.Sequential(*make_host(), nn.Linear(WIDTHS[-1], CLASSES)).to(memory_format=torch.channels_last)
        for _ in range(hosts)
    ]
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9, fused=True) for m in models]
    inputs = [part.contiguous(memory_format=torch.channels_last) for part in images]

    def run() -> None:
        for model, optimizer, batch, truth in zip(models, optimizers, inputs, labels, strict=True):
            step(F.cross_entropy(model(batch), truth), [*model.parameters()], optimizer)

    return run


def grouped(hosts: int, images: Tensor, labels: Tensor) -> Callable[[], None]:
    """Train all hosts as one network of grouped convolutions."""
    body = make_host(hosts)
    weight = nn.Parameter(torch.randn(hosts, CLASSES, WIDTHS[-1]) * 0.1)
    parameters = [*body.parameters(), weight]
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9, fused=True)
    inputs = images.transpose(0, 1).flatten(1, 2).contiguous()  # [batch, hosts x 3, 32, 32]

    def run() -> None:
        features = body(inputs).view(BATCH, hosts, WIDTHS[-1])
        logits = torch.einsum("bhc,hkc->hbk", features, weight)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / BATCH
        step(loss, parameters, optimizer)

    return run


def mapped(hosts: int, images: Tensor, labels: Tensor) -> Callable[[], None]:
    """Train all hosts by one function, mapped over stacked parameters."""
    models = [nn.Sequential(*make_host(), nn.Linear(WIDTHS[-1], CLASSES)) for _ in range(hosts)]
    stacked, _ = stack_module_state(models)  # type: ignore[arg-type]
    template = models[0].to("meta")

    def loss(parameters: dict[str, Tensor], inputs: Tensor, truth: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(template, (parameters, {}), (inputs,)), truth)

    gradients = vmap(grad_and_value(loss))
    values = {name: value.detach().clone() for name, value in stacked.items()}
    momenta = {name: torch.zeros_like(value) for name, value in values.items()}

    def run() -> None:
        found, _ = gradients(values, images, labels)
        for name, value in values.items():
            momenta[name].mul_(0.9).add_(found[name])
            value.add_(momenta[name], alpha=-0.05)

    return run


def main() -> None:
    """Measure, and print milliseconds per host and step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", default="16,64")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for hosts in (int(count) for count in options.hosts.split(",")):
        images = torch.randn(hosts, BATCH, 3, 32, 32)
        labels = torch.randint(0, CLASSES, (hosts, BATCH))
        forms = {form.__name__: form(hosts, images, labels) for form in (separate, grouped, mapped)}
        spent: dict[str, list[float]] = {name: [] for name in forms}
        for number in range(options.repeat + 1):
            for name, run in forms.items():
                started = time.process_time()
                run()
                if number:
                    spent[name].append(time.process_time() - started)
        medians = {name: statistics.median(seconds) for name, seconds in spent.items()}
        for name, seconds in medians.items():
            ratio = medians["separate"] / seconds
            print(f"{hosts:3} hosts  {name:9} {1000 * seconds / hosts:7.2f} ms a host  {ratio:5.2f} times")


if __name__ == "__main__":
    main()
