"""What the growing network computes: gradients, blending, counterfactuals, randomness, snapshots."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from esper.kasmina import BLUEPRINTS, MorphogeneticModel
from esper.leyline import (
    TOPOLOGY_BLUEPRINTS,
    BlendMode,
    FactoredAction,
    SeedStage,
    SlotConfig,
    SlottedHostProtocol,
)
from esper.leyline.telemetry import SeedPruned
from tests.esper.kasmina.helpers import (
    Log,
    ModelFactory,
    env_step,
    germinate,
    grow_to_holding,
    grow_to_training,
    new_model,
    new_text_model,
    perturb,
)

ALL_OFF = {"r0c0": 0.0, "r0c1": 0.0, "r0c2": 0.0}


def host_gradients(model: MorphogeneticModel, images: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    model(images).logsumexp(dim=1).sum().backward()
    return [parameter.grad.clone() for parameter in model.host_parameters()]


@pytest.mark.parametrize("blueprint", BLUEPRINTS["cnn"])
@pytest.mark.parametrize("mode", BlendMode)
def test_a_fresh_seed_changes_nothing_at_full_alpha_and_a_trained_one_does(
    model: MorphogeneticModel, images: torch.Tensor, blueprint: str, mode: BlendMode
) -> None:
    model.eval()
    plain = model(images)
    germinate(model, blueprint=blueprint, blend_mode=mode)
    assert torch.equal(model.fused_forward(images, [{"r0c1": 1.0}])[0], plain)
    perturb(model, "r0c1")
    assert not torch.allclose(model.fused_forward(images, [{"r0c1": 1.0}])[0], plain)


def test_a_seed_in_training_learns_while_the_host_computes_and_learns_as_before(
    make_model: ModelFactory, images: torch.Tensor
) -> None:
    bare, grown = make_model(), make_model()
    grow_to_training(grown)
    perturb(grown, "r0c1")
    assert torch.equal(bare(images), grown(images))
    before, after = host_gradients(bare, images), host_gradients(grown, images)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert any(parameter.grad.abs().sum() > 0 for parameter in grown.seed_parameters("r0c1"))


@pytest.mark.parametrize("blueprint", BLUEPRINTS["cnn"])
def test_a_seed_left_in_training_for_long_does_not_outgrow_the_features(
    model: MorphogeneticModel, images: torch.Tensor, blueprint: str
) -> None:
    grow_to_training(model, blueprint=blueprint)
    optimizer = torch.optim.SGD(model.seed_parameters("r0c1"), lr=0.05, momentum=0.9)
    labels = torch.arange(len(images)) % 10
    for _ in range(150):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    with torch.no_grad():
        features = model.host.run_segment(1, model.host.run_segment(0, images))
        share = model.slot("r0c1").seed(features).norm() / features.norm()
    assert 0.1 < share < 3.0


def test_a_germinated_seed_neither_learns_nor_changes_anything(
    model: MorphogeneticModel, images: torch.Tensor
) -> None:
    plain = model(images)
    germinate(model)
    perturb(model, "r0c1")
    assert torch.equal(model(images), plain)
    host_gradients(model, images)
    assert all(parameter.grad is None for parameter in model.seed_parameters("r0c1"))


def test_a_blended_seed_and_its_host_learn_from_each_other(
    model: MorphogeneticModel, images: torch.Tensor
) -> None:
    bare = host_gradients(model, images)
    grow_to_holding(model, blend_mode=BlendMode.GATE)
    grown = host_gradients(model, images)
    assert not torch.equal(bare[0], grown[0])
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.seed_parameters("r0c1"))


@pytest.mark.parametrize("mode", BlendMode)
def test_fused_forward_gives_the_bits_of_separate_passes(
    make_model: ModelFactory, images: torch.Tensor, mode: BlendMode
) -> None:
    model = make_model()
    for slot_id in ALL_OFF:
        grow_to_holding(model, slot_id, blueprint="depthwise", blend_mode=mode, target=0.7)
    model.eval()
    subsets = [dict.fromkeys(off, 0.0) for size in range(4) for off in itertools.combinations(ALL_OFF, size)]
    with torch.inference_mode():
        fused = model.fused_forward(images, subsets)
        assert torch.equal(fused[0], model(images))
        assert torch.equal(fused[-1], model.host(images))
        for logits, override in zip(fused, subsets, strict=True):
            assert torch.equal(logits, model.fused_forward(images, [override])[0])
    assert len({tuple(logits.flatten().tolist()) for logits in fused}) == 8


def test_fused_forward_shares_the_trunk(model: MorphogeneticModel, images: torch.Tensor) -> None:
    for slot_id in ALL_OFF:
        grow_to_holding(model, slot_id)
    model.eval()
    overrides = [{}, {"r0c2": 0.0}, {"r0c1": 0.0}, {}]
    model.fused_forward(images, overrides)  # the first time, it makes sure that one call gives the same bits
    seen: dict[int, int] = {}
    for index, segment in enumerate(model.host.segments):
        segment.register_forward_hook(lambda _, inputs, __, index=index: seen.update({index: len(inputs[0])}))
    model.fused_forward(images, overrides)
    assert {index: rows / len(images) for index, rows in seen.items()} == {0: 1, 1: 1, 2: 2, 3: 3}


def test_fused_forward_refuses_what_it_cannot_compare(
    model: MorphogeneticModel, images: torch.Tensor
) -> None:
    with pytest.raises(RuntimeError, match="needs evaluation mode"):
        model.fused_forward(images, [{}])
    model.eval()
    with pytest.raises(ValueError, match="at least one configuration"):
        model.fused_forward(images, [])
    with pytest.raises(ValueError, match="no slot 'r9c9'"):
        model.fused_forward(images, [{"r9c9": 0.0}])


def test_all_initial_weights_come_from_the_given_generator(log: Log) -> None:
    state = torch.get_rng_state()
    torch.manual_seed(1)
    first = new_model(log)
    germinate(first, blend_mode=BlendMode.GATE)
    torch.manual_seed(2)
    second = new_model(log)
    germinate(second, blend_mode=BlendMode.GATE)
    other = new_model(log, seed=1)
    germinate(other, blend_mode=BlendMode.GATE)
    weights = [torch.cat([p.flatten() for p in model.parameters()]) for model in (first, second, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert weights[0].isfinite().all()
    torch.manual_seed(2)
    undrawn = torch.get_rng_state()
    germinate(other, "r0c2")
    assert torch.equal(torch.get_rng_state(), undrawn)
    torch.set_rng_state(state)


def test_a_host_of_ones_own_needs_segments_only(log: Log, images: torch.Tensor) -> None:
    class Thirds(torch.nn.Module):
        slot_ids = ("r0c0", "r0c1", "r0c2")
        slot_channels = dict.fromkeys(slot_ids, 3)

        def run_segment(self, index: int, x: torch.Tensor) -> torch.Tensor:
            return x / 3 if index < 3 else x.mean(dim=(2, 3))

    host = Thirds()
    assert isinstance(host, SlottedHostProtocol)
    model = MorphogeneticModel(host, SlotConfig(), torch.Generator())
    torch.testing.assert_close(model(images), images.mean(dim=(2, 3)) / 27)


def test_an_action_names_what_grows(model: MorphogeneticModel) -> None:
    action = FactoredAction(
        slot=0, blueprint=1, style=3, tempo=2, alpha_target=1, alpha_speed=0, alpha_curve=0, op=1
    )
    assert model.germinate_by_action("r0c0", action, 0.3)
    report = model.slot_reports()["r0c0"]
    assert (report.blueprint, report.blend_mode, report.tempo_epochs) == ("attention", BlendMode.GATE, 8)
    assert (report.alpha_target, report.accuracy_at_germination) == (0.7, 0.3)


def test_a_rollback_restores_weights_prunes_living_seeds_and_keeps_fossils(
    model: MorphogeneticModel, images: torch.Tensor, log: Log
) -> None:
    grow_to_holding(model, "r0c0")
    env_step(model, lambda: model.slot("r0c0").fossilize())
    model.eval()
    healthy = model(images)
    snapshot = model.snapshot()
    grow_to_holding(model, "r0c2")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(float("nan"))
    assert model.restore(snapshot, "loss is not a number") == ("r0c2",)
    assert torch.equal(model.eval()(images), healthy)
    assert model.slot("r0c0").stage is SeedStage.FOSSILIZED
    (pruned,) = log.of(SeedPruned)
    assert (pruned.initiator, pruned.reason) == ("governor", "loss is not a number")


def test_a_fossil_that_the_snapshot_has_not_seen_is_made_harmless(
    model: MorphogeneticModel, images: torch.Tensor
) -> None:
    snapshot = model.snapshot()
    bare = model.eval()(images)
    model.train()
    grow_to_holding(model)
    env_step(model, lambda: model.slot("r0c1").fossilize())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(float("nan"))
    model.restore(snapshot, "broken")
    assert torch.equal(model.eval()(images), bare)


def test_what_is_trained_after_a_rollback_leaves_the_snapshot_alone(
    model: MorphogeneticModel, images: torch.Tensor
) -> None:
    grow_to_holding(model, "r0c0")
    env_step(model, lambda: model.slot("r0c0").fossilize())
    snapshot = model.snapshot()
    before = model.eval()(images)
    for _ in range(2):
        model.restore(snapshot, "broken")
        assert torch.equal(model.eval()(images), before)
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        model(images).logsumexp(1).sum().backward()
        optimizer.step()
        assert not torch.equal(model.eval()(images), before)


@settings(max_examples=15)
@given(data=st.data(), slots=st.integers(1, 6))
def test_fused_forward_gives_the_bits_of_separate_passes_whatever_has_grown(
    data: st.DataObject, slots: int
) -> None:
    model = new_text_model(slots=slots)
    for slot_id in model.slot_config.slot_ids:
        blueprint = data.draw(st.sampled_from(TOPOLOGY_BLUEPRINTS["transformer"]))
        mode = data.draw(st.sampled_from(BlendMode))
        if data.draw(st.booleans()):
            grow_to_holding(model, slot_id, blueprint=blueprint, blend_mode=mode, target=0.7)
    model.eval()
    tokens = torch.randint(0, 42, (3, 16), generator=torch.Generator().manual_seed(0))
    shares = st.dictionaries(
        st.sampled_from(model.slot_config.slot_ids), st.sampled_from([0.0, 0.5, 1.0]), max_size=slots
    )
    overrides = [{}, *data.draw(st.lists(shares, max_size=7))]
    with torch.inference_mode():
        for _ in range(2):
            fused = model.fused_forward(tokens, overrides)
            assert torch.equal(fused[0], model(tokens))
            for logits, override in zip(fused, overrides, strict=True):
                assert torch.equal(logits, model.fused_forward(tokens, [override])[0])
