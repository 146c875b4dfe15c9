"""Hosts of all tasks: their shapes, their segments, and what they refuse."""

import pytest
import torch

from esper.kasmina import create_host, create_text_host
from esper.leyline import SlotConfig, SlottedHostProtocol
from esper.leyline.task import TaskSpec
from esper.runtime import TASKS
from esper.tolaria.models import create_model

TEXT_SLOTS = SlotConfig(("a", "b"), "transformer")


def inputs_of(task: TaskSpec) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    if task.task_type == "lm":
        return torch.randint(0, task.num_classes, (4, task.context_length), generator=generator)
    return torch.randn(4, 3, 32, 32, generator=generator)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_host_is_its_segments_one_after_the_other_and_learns(task: TaskSpec) -> None:
    slots = SlotConfig(task.slots, task.topology)
    model = create_model(
        task, slots, task.slots, generator=torch.Generator().manual_seed(1), device=torch.device("cpu")
    )
    host, inputs = model.host.eval(), inputs_of(task)
    assert isinstance(host, SlottedHostProtocol)
    x = inputs
    for index in range(len(task.slots) + 1):
        x = host.run_segment(index, x)
        if index < len(task.slots):
            assert x.shape[1 if x.dim() == 4 else 2] == host.slot_channels[task.slots[index]]
    assert torch.equal(x, host(inputs))
    assert torch.equal(x, model.eval()(inputs))
    assert x.shape[-1] == task.num_classes
    x.logsumexp(-1).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for name, parameter in host.named_parameters())


def test_what_cannot_be_built_is_refused() -> None:
    generator = torch.Generator()
    six = SlotConfig(tuple("abcdef"))
    with pytest.raises(ValueError, match="2 widths for 3 slots"):
        create_host((8, 16), num_classes=10, generator=generator)
    with pytest.raises(ValueError, match="32 pixels a side can't be halved 6 times"):
        create_host([4] * 6, num_classes=10, generator=generator, slot_config=six)
    text = {"alphabet": 9, "context_length": 8, "generator": generator, "slot_config": TEXT_SLOTS}
    with pytest.raises(ValueError, match="3 widths for 2 slots"):
        create_text_host((16, 16, 16), **text)
    with pytest.raises(ValueError, match="a transformer has one width, not 16, 32"):
        create_text_host((16, 32), **text)
    with pytest.raises(ValueError, match="33 channels can't be shared by 2 heads"):
        create_text_host((33, 33), **text)
