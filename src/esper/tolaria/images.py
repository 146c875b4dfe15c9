"""Images in memory. They stay bytes until a batch is made: cropping, flipping and scaling are done on the
whole batch as a tensor.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

CROP_PADDING = 4
_SIDE = 32
# Per-channel mean and standard deviation of CIFAR-10's training set, in units of full scale.
_MEAN = (0.4914, 0.4822, 0.4465)
_STD = (0.2470, 0.2435, 0.2616)

Batch = tuple[Tensor, Tensor]


class TrainingData(ABC):
    """A data set in memory that makes batches on its device.

    Sizes count examples (images, sequences), `train_targets` and `val_targets` predictions.
    """

    @property
    @abstractmethod
    def train_size(self) -> int:
        """Number of training examples."""

    @property
    @abstractmethod
    def val_size(self) -> int:
        """Number of validation examples."""

    @property
    def targets_per_example(self) -> int:
        """Number of predictions per example: one per image, one per character."""
        return 1

    @property
    def train_targets(self) -> int:
        """Number of predictions in a training epoch."""
        return self.train_size * self.targets_per_example

    @property
    def val_targets(self) -> int:
        """Number of predictions in a validation pass."""
        return self.val_size * self.targets_per_example

    @abstractmethod
    def to(self, device: torch.device) -> Self:
        """The same data on a device."""

    @abstractmethod
    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """The random numbers that augmenting `count` examples takes, on the CPU."""

    @abstractmethod
    def train_batch(self, index: Tensor, draws: tuple[Tensor, ...]) -> Batch:
        """Inputs and targets of these training examples, augmented as drawn."""

    @abstractmethod
    def val_batch(self, start: int, end: int) -> Batch:
        """Inputs and targets of the validation examples from `start` up to `end`."""


@dataclass(frozen=True, slots=True)
class ImageData(TrainingData):
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

    def to(self, device: torch.device) -> ImageData:
        """The same data on a device."""
        return ImageData(
            self.train_images.to(device),
            self.train_labels.to(device),
            self.val_images.to(device),
            self.val_labels.to(device),
        )

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw what augments `count` images: the crops' rows and columns, and which to flip [count, 1]."""
        rows, columns = torch.randint(0, 2 * CROP_PADDING + 1, (2, count), generator=generator)
        return rows, columns, torch.randint(0, 2, (count, 1), generator=generator).bool()

    def train_batch(self, index: Tensor, draws: tuple[Tensor, ...]) -> Batch:
        """Training images of these indices as drawn, or as they are where nothing was drawn."""
        labels = self.train_labels[index]
        if not draws:
            inner = slice(CROP_PADDING, CROP_PADDING + _SIDE)
            return _scaled(self.train_images[index, inner, inner]), labels
        rows, columns, flip = draws
        crops = _all_crops(self.train_images)[index, rows, columns]
        # Eight bytes at a time: choosing between two images is a copy, whatever the type of its elements.
        plain, flipped = (part.flatten(1).view(torch.int64) for part in (crops, crops.flip(2)))
        return _scaled(torch.where(flip, flipped, plain).view(torch.uint8).view(crops.shape)), labels

    def val_batch(self, start: int, end: int) -> Batch:
        """Validation images from `start` up to `end`."""
        return _scaled(self.val_images[start:end]), self.val_labels[start:end]


def _scaled(images: Tensor) -> Tensor:
    """Bytes [B, side, side, 3] to float32 [B, 3, side, side] in channels-last layout."""
    scale, shift = _scaling(images.device)
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


@functools.cache
def _scaling(device: torch.device) -> tuple[Tensor, Tensor]:
    """Factor and subtrahend of a row of pixels."""
    mean, std = torch.tensor(_MEAN).repeat(_SIDE), torch.tensor(_STD).repeat(_SIDE)
    return (1 / (255 * std)).to(device), (mean / std).to(device)
