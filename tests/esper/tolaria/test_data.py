"""Batches: every example once an epoch, env by env independent of the others; the generated text."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from esper.leyline.errors import InputError
from esper.leyline.task import Loading
from esper.runtime import get_task_spec
from esper.tolaria.data import SharedBatchIterator, load_images
from esper.tolaria.images import ImageData
from esper.tolaria.models import count_correct, mean_loss, summed_loss
from esper.tolaria.runtime import derive_generator, derive_seed
from esper.tolaria.text import ALPHABET, generate_text, sample_text

CPU = torch.device("cpu")


def numbered_images(train: int, val: int) -> ImageData:
    """Images whose label is their number, with pixels that differ everywhere."""
    generator = torch.Generator().manual_seed(1)
    return ImageData(
        torch.randint(0, 256, (train, 40, 40, 3), dtype=torch.uint8, generator=generator),
        torch.arange(train),
        torch.randint(0, 256, (val, 32, 32, 3), dtype=torch.uint8, generator=generator),
        torch.arange(val),
    )


def epoch_of(data: ImageData, seeds: list[int], env: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """One env's batches when envs of these seeds train side by side."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    batches = SharedBatchIterator(data, 7, [CPU] * len(seeds), generators)
    return [step[env] for step in batches]


def test_every_env_sees_every_image_once_an_epoch_in_its_own_order() -> None:
    data = numbered_images(30, 5)
    first, second = ([int(x) for _, t in epoch_of(data, [1, 2], env) for x in t] for env in (0, 1))
    assert sorted(first) == sorted(second) == list(range(30))
    assert first != second


def test_an_env_gets_the_same_batches_whoever_its_neighbours_are() -> None:
    data = numbered_images(30, 5)
    alone = epoch_of(data, [1], 0)
    beside = epoch_of(data, [1, 2, 3], 0)
    assert len(alone) == len(beside) == 5
    for (inputs, targets), (others, labels) in zip(alone, beside, strict=True):
        assert torch.equal(inputs, others)
        assert torch.equal(targets, labels)


def test_a_second_epoch_differs_from_the_first() -> None:
    data = numbered_images(30, 5)
    batches = SharedBatchIterator(data, 30, [CPU], [torch.Generator().manual_seed(0)])
    [[(first, _)]], [[(second, _)]] = list(batches), list(batches)
    assert not torch.equal(first, second)


def test_a_training_image_is_a_crop_of_the_padded_one_flipped_or_not() -> None:
    data = numbered_images(3, 1)
    [[(inputs, targets)]] = list(SharedBatchIterator(data, 3, [CPU], [torch.Generator().manual_seed(3)]))
    mean = torch.tensor([0.4914, 0.4822, 0.4465])[:, None, None]
    std = torch.tensor([0.2470, 0.2435, 0.2616])[:, None, None]
    for image, target in zip(inputs, targets, strict=True):
        restored = ((image * std + mean) * 255).round().to(torch.uint8)
        padded = data.train_images[target].permute(2, 0, 1)
        crops = [padded[:, y : y + 32, x : x + 32] for y in range(9) for x in range(9)]
        assert any(torch.equal(restored, view) for crop in crops for view in (crop, crop.flip(2)))


def test_validation_is_in_order_and_shared_by_all_envs() -> None:
    data = numbered_images(4, 10)
    batches = list(SharedBatchIterator(data, 4, [CPU, CPU]))
    assert [len(targets) for (_, targets), _ in batches] == [4, 4, 2]
    assert torch.cat([targets for (_, targets), _ in batches]).tolist() == list(range(10))
    for (inputs, _), (others, _) in batches:
        assert inputs is others
        assert inputs.is_contiguous(memory_format=torch.channels_last)


def test_a_validation_set_smaller_than_a_batch_is_used_whole() -> None:
    batches = list(SharedBatchIterator(numbered_images(4, 3), 64, [CPU]))
    assert [len(targets) for [(_, targets)] in batches] == [3]


@settings(max_examples=25)
@given(
    workers=st.integers(1, 4),
    batch_size=st.integers(1, 40),
    seeds=st.lists(st.integers(0, 99), min_size=1, max_size=3),
    training=st.booleans(),
)
def test_any_number_of_workers_gives_the_same_bits(
    workers: int, batch_size: int, seeds: list[int], training: bool
) -> None:
    data = numbered_images(30, 20)

    def epochs(loading: Loading) -> list[torch.Tensor]:
        generators = [torch.Generator().manual_seed(seed) for seed in seeds] if training else None
        batches = SharedBatchIterator(data, batch_size, [CPU] * len(seeds), generators, loading)
        return [part for _ in range(2) for step in batches for batch in step for part in batch]

    alone, helped = epochs(Loading()), epochs(Loading(workers=workers))
    assert len(alone) == len(helped)
    assert all(torch.equal(a, b) for a, b in zip(alone, helped, strict=True))


def test_a_failing_worker_fails_the_epoch() -> None:
    data = numbered_images(30, 20)
    broken = ImageData(data.train_images[:10], data.train_labels, data.val_images, data.val_labels)
    batches = SharedBatchIterator(broken, 7, [CPU], [torch.Generator()], Loading(workers=2))
    with pytest.raises(IndexError, match="out of bounds"):
        list(batches)


def test_an_epoch_may_be_left_before_its_end() -> None:
    batches = SharedBatchIterator(numbered_images(30, 20), 2, [CPU], loading=Loading(workers=3))
    for (_, targets), *_ in batches:
        if 5 in targets:
            break
    assert sum(len(targets) for [(_, targets)] in batches) == 20


def test_preloaded_images_are_as_they_are_unless_they_are_to_be_augmented() -> None:
    data = numbered_images(30, 5)

    def inputs(loading: Loading | None) -> torch.Tensor:
        generator = torch.Generator().manual_seed(1)
        batches = list(SharedBatchIterator(data, 7, [CPU], [generator], loading))
        assert [len(targets) for [(_, targets)] in batches] == [7, 7, 7, 7, 2]
        return torch.cat([images for [(images, _)] in batches])

    plain = inputs(Loading(preload=True, augment=False))
    assert torch.equal(inputs(Loading(preload=True)), inputs(None))
    assert not torch.equal(plain, inputs(None))
    mean, std = torch.tensor([0.4914, 0.4822, 0.4465]), torch.tensor([0.2470, 0.2435, 0.2616])
    restored = ((plain.permute(0, 2, 3, 1) * std + mean) * 255).round().to(torch.uint8)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(1))
    assert torch.equal(restored, data.train_images[order][:, 4:36, 4:36])


def test_generators_must_match_the_envs() -> None:
    with pytest.raises(ValueError, match="1 generators for 2 envs"):
        SharedBatchIterator(numbered_images(4, 3), 2, [CPU, CPU], [torch.Generator()])


@pytest.mark.filterwarnings("ignore:.*checksums")
def test_more_images_than_there_are_is_an_error(make_cifar: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="--val-images 9: the data has only 8"):
        load_images(make_cifar(records=8), val_images=9)


def test_download_needs_a_folder() -> None:
    with pytest.raises(InputError, match="--download: needs --data-dir"):
        load_images(None, download=True)


def test_seeds_of_different_places_differ_and_repeat() -> None:
    places = [(0,), (1,), (0, 1), (1, 0), (0, 1, "data"), (0, 1, "weights"), (11, 1), (1, 11)]
    seeds = {place: derive_seed(0, *place) for place in places}
    assert len(set(seeds.values())) == len(places)
    assert all(derive_seed(0, *place) == seed for place, seed in seeds.items())
    draws = [torch.rand(3, generator=derive_generator(5, 0, 1)) for _ in range(2)]
    assert torch.equal(*draws)


TASK = get_task_spec("char_lm")


def test_the_text_is_the_same_on_every_machine_and_uses_the_alphabet() -> None:
    text = sample_text(1, 50_000)
    assert set(text) <= set(ALPHABET)
    assert len(ALPHABET) == TASK.num_classes
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "81eaa4c9fa15380e"
    assert sample_text(1, 777) == text[:777]


def test_targets_are_the_characters_that_follow() -> None:
    data = generate_text(16, 20, 7)
    [[(inputs, targets)]] = SharedBatchIterator(data, 64, [CPU])
    assert inputs.shape == targets.shape == (7, 16)
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    stream = torch.cat([inputs.flatten(), targets[-1, -1:]])
    assert torch.equal(stream[1:], targets.flatten())
    assert (data.train_size, data.train_targets, data.val_targets) == (20, 320, 112)


def test_validation_text_is_other_text() -> None:
    data = generate_text(64, 50, 50)
    assert not set(map(tuple, data.val_sequences.tolist())) & set(map(tuple, data.train_sequences.tolist()))


def test_losses_and_correct_answers_count_every_target() -> None:
    logits = torch.randn(2, 4, 5, 9, generator=torch.Generator().manual_seed(0))
    targets = torch.randint(0, 9, (4, 5), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(summed_loss(logits[0], targets), 20 * mean_loss(logits[0], targets))
    right = [(each.argmax(-1) == targets).sum().item() for each in logits]
    assert count_correct(logits, targets).tolist() == right
    assert count_correct(logits[1], targets).item() == right[1]
    assert count_correct(logits[:, :, 0], targets[:, 0]).shape == (2,)
