"""Batches: every image once an epoch, env by env independent of the others."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from esper.leyline.errors import InputError
from esper.tolaria.data import ImageData, SharedBatchIterator, load_images
from esper.tolaria.seeding import derive_generator, derive_seed

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


def test_generators_must_match_the_envs() -> None:
    with pytest.raises(ValueError, match="1 generators for 2 envs"):
        SharedBatchIterator(numbered_images(4, 3), 2, [CPU, CPU], [torch.Generator()])


def test_the_first_images_are_taken() -> None:
    few, all_of_them = load_images(None, train_images=20, val_images=10), load_images(None)
    assert (few.train_size, few.val_size) == (20, 10)
    assert torch.equal(few.train_images, all_of_them.train_images[:20])
    assert torch.equal(few.val_labels, all_of_them.val_labels[:10])


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
