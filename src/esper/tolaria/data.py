"""The data of a task, and the batches that many envs train on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from esper.leyline.errors import InputError
from esper.leyline.task import Loading, TaskSpec
from esper.tolaria.cifar import read_cifar10, synthetic_folder
from esper.tolaria.images import CROP_PADDING, Batch, ImageData
from esper.tolaria.images import TrainingData as TrainingData
from esper.tolaria.text import SequenceData, generate_text

DEFAULT_TRAIN_SEQUENCES = 2_048
DEFAULT_VAL_SEQUENCES = 512


def load_data(
    task_spec: TaskSpec,
    data_dir: Path | None,
    *,
    download: bool = False,
    train_images: int | None = None,
    val_images: int | None = None,
) -> ImageData | SequenceData:
    """The data of a task; at most the first so many examples of each part.

    Raises InputError if the data cannot be read, or if more examples are asked for than there are.
    """
    if task_spec.task_type == "lm":
        if data_dir is not None or download:
            flag = "--download" if data_dir is None else f"--data-dir {data_dir}"
            raise InputError(f"{flag}: task {task_spec.name} generates its text; leave it out")
        return generate_text(
            task_spec.context_length,
            train_images or DEFAULT_TRAIN_SEQUENCES,
            val_images or DEFAULT_VAL_SEQUENCES,
        )
    return load_images(data_dir, download=download, train_images=train_images, val_images=val_images)


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

    With `generators`, one per env, an iteration is a training epoch: every env sees every example once,
    in its own order and with its own augmentation, drawn from its generator only. Without, it is a
    validation pass: all envs share the same batches in the stored order. The last batch may be smaller;
    no example is left out.

    Yields a list with one (inputs, targets) per env: images [B, 3, 32, 32] float32 in channels-last layout
    with labels [B], or characters [B, T] with the characters that follow them [B, T].
    """

    def __init__(
        self,
        data: TrainingData,
        batch_size: int,
        devices: Sequence[torch.device],
        generators: Sequence[torch.Generator] | None = None,
        loading: Loading | None = None,
    ) -> None:
        if generators is not None and len(generators) != len(devices):
            raise ValueError(f"{len(generators)} generators for {len(devices)} envs")
        self._loading = loading or Loading()
        self._data = {
            device: data.to(device) if self._loading.preload else data for device in dict.fromkeys(devices)
        }
        self._batch_size = batch_size
        self._devices = tuple(devices)
        self._generators = None if generators is None else tuple(generators)
        self._size = data.val_size if generators is None else data.train_size

    def __len__(self) -> int:
        return -(-self._size // self._batch_size)

    def __iter__(self) -> Iterator[list[Batch]]:
        if self._generators is None:
            steps = self._validation_pass()
        else:
            steps = self._training_epoch(self._generators)
        if self._loading.workers == 0:
            return (make() for make in steps)
        return _made_ahead(steps, self._loading.workers)

    def _validation_pass(self) -> Iterator[Callable[[], list[Batch]]]:
        for start in range(0, self._size, self._batch_size):
            yield partial(self._val_step, start, min(start + self._batch_size, self._size))

    def _val_step(self, start: int, end: int) -> list[Batch]:
        by_device = {
            device: self._placed(data.val_batch(start, end), device) for device, data in self._data.items()
        }
        return [by_device[device] for device in self._devices]

    def _training_epoch(self, generators: tuple[torch.Generator, ...]) -> Iterator[Callable[[], list[Batch]]]:
        orders = [torch.randperm(self._size, generator=generator) for generator in generators]
        for start in range(0, self._size, self._batch_size):
            indices = [order[start : start + self._batch_size] for order in orders]
            draws = [
                data.draw(len(index), generator) if self._loading.augment else ()
                for data, index, generator in zip(
                    (self._data[device] for device in self._devices), indices, generators, strict=True
                )
            ]
            yield partial(self._train_step, indices, draws)

    def _train_step(self, indices: Sequence[Tensor], draws: Sequence[tuple[Tensor, ...]]) -> list[Batch]:
        return [
            self._train_batch(device, index, drawn)
            for device, index, drawn in zip(self._devices, indices, draws, strict=True)
        ]

    def _train_batch(self, device: torch.device, index: Tensor, draws: tuple[Tensor, ...]) -> Batch:
        if self._loading.preload:
            index = index.to(device, non_blocking=True)
            draws = tuple(drawn.to(device, non_blocking=True) for drawn in draws)
        return self._placed(self._data[device].train_batch(index, draws), device)

    def _placed(self, batch: Batch, device: torch.device) -> Batch:
        if self._loading.preload or device.type == "cpu":
            return batch
        # Only from pinned memory does a transfer run beside the device's work.
        inputs, targets = (part.pin_memory().to(device, non_blocking=True) for part in batch)
        return inputs, targets


def _made_ahead(steps: Iterator[Callable[[], list[Batch]]], workers: int) -> Iterator[list[Batch]]:
    """The batches of `steps` in their order, as many made ahead as there are threads."""
    with ThreadPoolExecutor(workers, thread_name_prefix="batches") as pool:
        pending: deque[Future[list[Batch]]] = deque()
        for make in steps:
            pending.append(pool.submit(make))
            if len(pending) > workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
