"""Images in memory, and the batches that many envs train on.

Images stay bytes until a batch is made: cropping, flipping and scaling are done on the whole batch as a
tensor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from esper.leyline.errors import InputError
from esper.tolaria.cifar import read_cifar10
from esper.tolaria.synthetic import synthetic_folder

CROP_PADDING = 4
_SIDE = 32
# Per-channel mean and standard deviation of CIFAR-10's training set, in units of full scale.
_MEAN = (0.4914, 0.4822, 0.4465)
_STD = (0.2470, 0.2435, 0.2616)

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class ImageData:
    """Training and validation images as bytes [N, side, side, 3] and labels [N]; training images are
    zero-padded.
    """

    train_images: Tensor
    train_labels: Tensor
    val_images: Tensor
    val_labels: Tensor

    @property
    def train_size(self) -> int:
        """Number of training images."""
        return len(self.train_labels)

    @property
    def val_size(self) -> int:
        """Number of validation images."""
        return len(self.val_labels)

    def to(self, device: torch.device) -> "ImageData":
        """The same data on a device."""
        return ImageData(
            self.train_images.to(device),
            self.train_labels.to(device),
            self.val_images.to(device),
            self.val_labels.to(device),
        )


def load_images(
    data_dir: Path | None,
    *,
    download: bool = False,
    train_images: int | None = None,
    val_images: int | None = None,
) -> ImageData:
    """CIFAR-10 from a folder, or the synthetic set where none is given; at most the first so many
    images of each.

    Raises InputError if the data cannot be read, or if more images are asked for than there are.
    """
    folder = synthetic_folder() if data_dir is None else data_dir
    if data_dir is None and download:
        raise InputError("--download: needs --data-dir, the folder to put CIFAR-10 into")
    images, labels, test_images, test_labels = (
        torch.from_numpy(part)
        for part in read_cifar10(folder, download=download, expected=data_dir is not None)
    )
    train_count = _checked_count("--train-images", train_images, len(labels))
    val_count = _checked_count("--val-images", val_images, len(test_labels))
    padded = torch.nn.functional.pad(images[:train_count], (CROP_PADDING,) * 4)
    return ImageData(
        padded.permute(0, 2, 3, 1).contiguous(),
        labels[:train_count].clone(),
        test_images[:val_count].permute(0, 2, 3, 1).contiguous(),
        test_labels[:val_count].clone(),
    )


def _checked_count(flag: str, wanted: int | None, available: int) -> int:
    if wanted is not None and wanted > available:
        raise InputError(f"{flag} {wanted}: the data has only {available}")
    return available if wanted is None else wanted


class SharedBatchIterator:
    """Batches of one data set for several envs: batch first, then envs.

    With `generators`, one per env, an iteration is a training epoch: every env sees every image once,
    in its own order and with its own crops and flips, drawn from its generator only. Without, it is a
    validation pass: all envs share the same batches in the stored order. The last batch may be smaller;
    no image is left out.

    Yields a list with one (inputs [B, 3, 32, 32] float32 in channels-last layout, labels [B]) per env.
    """

    def __init__(
        self,
        data: ImageData,
        batch_size: int,
        devices: Sequence[torch.device],
        generators: Sequence[torch.Generator] | None = None,
    ) -> None:
        if generators is not None and len(generators) != len(devices):
            raise ValueError(f"{len(generators)} generators for {len(devices)} envs")
        self._data = {device: data.to(device) for device in dict.fromkeys(devices)}
        self._crops = {device: _all_crops(placed.train_images) for device, placed in self._data.items()}
        self._scale = {device: _scaling(device) for device in self._data}
        self._batch_size = batch_size
        self._devices = tuple(devices)
        self._generators = None if generators is None else tuple(generators)
        self._size = data.val_size if generators is None else data.train_size

    def __len__(self) -> int:
        return -(-self._size // self._batch_size)

    def __iter__(self) -> Iterator[list[Batch]]:
        if self._generators is None:
            return self._validation_pass()
        return self._training_epoch(self._generators)

    def _validation_pass(self) -> Iterator[list[Batch]]:
        for start in range(0, self._size, self._batch_size):
            end = start + self._batch_size
            by_device = {
                device: (self._scaled(data.val_images[start:end], device), data.val_labels[start:end])
                for device, data in self._data.items()
            }
            yield [by_device[device] for device in self._devices]

    def _training_epoch(self, generators: tuple[torch.Generator, ...]) -> Iterator[list[Batch]]:
        orders = [torch.randperm(self._size, generator=generator) for generator in generators]
        for start in range(0, self._size, self._batch_size):
            yield [
                self._augmented(order[start : start + self._batch_size], device, generator)
                for order, device, generator in zip(orders, self._devices, generators, strict=True)
            ]

    def _augmented(self, index: Tensor, device: torch.device, generator: torch.Generator) -> Batch:
        """Crop at a random offset and flip at random, on bytes and on the whole batch."""
        rows, columns = torch.randint(0, 2 * CROP_PADDING + 1, (2, len(index)), generator=generator)
        flip = torch.randint(0, 2, (len(index), 1), generator=generator).bool()
        index, rows, columns, flip = (
            part.to(device, non_blocking=True) for part in (index, rows, columns, flip)
        )
        crops = self._crops[device][index, rows, columns]
        # Eight bytes at a time: choosing between two images is a copy, whatever the type of its elements.
        plain, flipped = (part.flatten(1).view(torch.int64) for part in (crops, crops.flip(2)))
        images = torch.where(flip, flipped, plain).view(torch.uint8).view(crops.shape)
        return self._scaled(images, device), self._data[device].train_labels[index]

    def _scaled(self, images: Tensor, device: torch.device) -> Tensor:
        scale, shift = self._scale[device]
        # Rows of pixels instead of pixels: inner loops of 96 numbers instead of 3.
        rows = images.reshape(len(images), _SIDE, -1).float().mul_(scale).sub_(shift)
        return rows.view(images.shape).permute(0, 3, 1, 2)


def _all_crops(padded: Tensor) -> Tensor:
    """View [N, offsets, offsets, side, side, 3] of padded images [N, height, width, 3]; copies nothing."""
    offsets = 2 * CROP_PADDING + 1
    per_image, per_row, per_column, per_channel = padded.stride()
    return padded.as_strided(
        (len(padded), offsets, offsets, _SIDE, _SIDE, padded.shape[-1]),
        (per_image, per_row, per_column, per_row, per_column, per_channel),
    )


def _scaling(device: torch.device) -> tuple[Tensor, Tensor]:
    """Factor and subtrahend of a row of pixels."""
    mean, std = torch.tensor(_MEAN).repeat(_SIDE), torch.tensor(_STD).repeat(_SIDE)
    return (1 / (255 * std)).to(device), (mean / std).to(device)
