"""What can grow: parameter counts, harmless births, and no look into the future."""

import pytest
import torch

from esper.kasmina import BLUEPRINTS, MorphogeneticModel, build_seed
from esper.leyline import BLUEPRINT_NAMES, TOPOLOGY_BLUEPRINTS, BlendMode, Topology
from tests.esper.kasmina.helpers import germinate, new_text_model, perturb

EVERY = [(topology, name) for topology, blueprints in BLUEPRINTS.items() for name in blueprints]
TOKENS = torch.randint(0, 42, (3, 16), generator=torch.Generator().manual_seed(4))


def test_the_blueprints_are_those_that_the_action_names() -> None:
    by_topology = {topology: tuple(blueprints) for topology, blueprints in BLUEPRINTS.items()}
    assert by_topology == TOPOLOGY_BLUEPRINTS
    assert set().union(*by_topology.values()) == set(BLUEPRINT_NAMES)
    assert [len(blueprints) for blueprints in by_topology.values()] == [7, 4]


@pytest.mark.parametrize(("topology", "name"), EVERY)
@pytest.mark.parametrize("channels", [4, 8, 16, 48])
def test_the_table_tells_how_many_numbers_a_seed_learns(topology: Topology, name: str, channels: int) -> None:
    seed = build_seed(name, channels, torch.Generator(), topology)
    learnt = sum(parameter.numel() for parameter in seed.parameters())
    assert learnt == BLUEPRINTS[topology][name].parameters(channels)


@pytest.mark.parametrize(("topology", "name"), EVERY)
def test_a_seed_changes_nothing_at_birth_and_everything_in_it_can_learn(
    topology: Topology, name: str
) -> None:
    seed = build_seed(name, 16, torch.Generator().manual_seed(1), topology)
    shape = (4, 16, 8, 8) if topology == "cnn" else (4, 8, 16)
    features = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    change = seed(features)
    assert change.shape == features.shape
    assert torch.equal(change, torch.zeros_like(change))
    optimizer = torch.optim.SGD(seed.parameters(), lr=0.1)
    before = [parameter.detach().clone() for parameter in seed.parameters()]
    for _ in range(2):  # the last layer first; then gradients reach the rest
        optimizer.zero_grad()
        (seed(features) - 1.0).square().sum().backward()
        optimizer.step()
    moved = [not torch.equal(old, new) for old, new in zip(before, seed.parameters(), strict=True)]
    assert all(moved)


@pytest.mark.parametrize("name", BLUEPRINTS["transformer"])
@pytest.mark.parametrize("mode", BlendMode)
def test_no_token_sees_a_later_one(name: str, mode: BlendMode) -> None:
    model = new_text_model()
    germinate(model, blueprint=name, blend_mode=mode)
    perturb(model, "r0c1")
    model.eval()
    other = TOKENS.clone()
    other[:, 9:] = (other[:, 9:] + 1) % 42
    seen, changed = (model.fused_forward(tokens, [{"r0c1": 0.5}])[0] for tokens in (TOKENS, other))
    assert torch.equal(seen[:, :9], changed[:, :9])
    assert not torch.equal(seen[:, 9:], changed[:, 9:])


def test_a_blueprint_of_the_other_kind_of_host_is_refused(model: MorphogeneticModel) -> None:
    with pytest.raises(ValueError, match="no blueprint 'lora' for a cnn host; there are norm, attention"):
        germinate(model, blueprint="lora")
    with pytest.raises(ValueError, match="no blueprint 'conv_light' for a transformer host"):
        germinate(new_text_model(), blueprint="conv_light")
