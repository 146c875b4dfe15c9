"""A generated text, and its batches of sequences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from esper.tolaria.images import Batch, TrainingData


class Words:
    """Integers from the raw words of a PCG64 bit generator, whose stream numpy guarantees."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def below(self, bound: int, *shape: int) -> np.ndarray:
        """Integers in [0, bound), bound at most 2**16, of a shape; four of every word."""
        count = math.prod(shape)
        raw = self._bits.random_raw((count + 3) // 4)
        quarters = np.stack([(raw >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)], 1)
        return ((quarters.reshape(-1)[:count].astype(np.int64) * bound) >> 16).reshape(shape)


ALPHABET = " abcdefghijklmnopqrstuvwxyz0123456789.,:+="
_TRAIN_SEED, _VAL_SEED = 20_250_101, 20_250_102
_DRAWS = 8

_NOUNS = (
    *("fox", "bird", "river", "garden", "king", "window"),
    *("robot", "tree", "ship", "clock", "cat", "stone"),
)
_VERBS = ("see", "follow", "paint", "need", "pull", "hear", "find", "build")
_ADJECTIVES = ("old", "small", "red", "quiet", "bright", "heavy")
_NAMES = ("mia", "tom", "lena", "oskar", "ida", "paul")


@dataclass(frozen=True, slots=True)
class SequenceData(TrainingData):
    """Training and validation sequences of characters [N, context + 1]; the last is only predicted."""

    train_sequences: Tensor
    val_sequences: Tensor

    @property
    def train_size(self) -> int:
        """Number of training sequences."""
        return len(self.train_sequences)

    @property
    def val_size(self) -> int:
        """Number of validation sequences."""
        return len(self.val_sequences)

    @property
    def targets_per_example(self) -> int:
        """Number of characters to predict in a sequence."""
        return self.train_sequences.shape[1] - 1

    def to(self, device: torch.device) -> SequenceData:
        """The same data on a device."""
        return SequenceData(self.train_sequences.to(device), self.val_sequences.to(device))

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Nothing: text is not augmented."""
        return ()

    def train_batch(self, index: Tensor, draws: tuple[Tensor, ...]) -> Batch:
        """Training sequences of these indices: characters [B, context] and the ones that follow."""
        return _shifted(self.train_sequences[index])

    def val_batch(self, start: int, end: int) -> Batch:
        """Validation sequences from `start` up to `end`."""
        return _shifted(self.val_sequences[start:end])


def generate_text(context_length: int, train_sequences: int, val_sequences: int) -> SequenceData:
    """So many sequences of both parts; validation text is other text of the same grammar."""
    return SequenceData(
        _sequences(_TRAIN_SEED, train_sequences, context_length),
        _sequences(_VAL_SEED, val_sequences, context_length),
    )


def sample_text(seed: int, length: int) -> str:
    """The first `length` characters of a text."""
    words = Words(seed)
    parts: list[str] = []
    missing = length
    while missing > 0:
        for draws in words.below(1 << 15, 64, _DRAWS).tolist():
            parts.append(_sentence(draws))
            missing -= len(parts[-1])
    return "".join(parts)[:length]


def _sentence(draws: list[int]) -> str:
    kind, first, second, third, fourth, fifth, sixth, seventh = draws
    if kind % 4 == 0:
        left, right = first % 50, second % 50
        return f"{left}+{right}={left + right}. "
    if kind % 4 == 1:
        name, noun = _pick(_NAMES, first), _pick(_NOUNS, second)
        return f"{name} has a {noun}, the {noun} of {name} is {_pick(_ADJECTIVES, third)}. "
    subject, thing = _pick(_NOUNS, second), _pick(_NOUNS, fifth)
    plural = first % 2 == 1
    verb = _pick(_VERBS, fourth) + ("" if plural else "s")
    qualities = f"{_pick(_ADJECTIVES, third)} " if sixth % 2 else ""
    sentence = f"the {qualities}{subject}{'s' if plural else ''} {verb} the {thing}"
    return f"{_pick(_NAMES, seventh)}: {sentence}. " if kind % 4 == 2 else f"{sentence}. "


def _pick(words: tuple[str, ...], draw: int) -> str:
    return words[draw % len(words)]


def _sequences(seed: int, count: int, context_length: int) -> Tensor:
    text = sample_text(seed, count * context_length + 1)
    table = np.zeros(128, np.int64)
    table[np.frombuffer(ALPHABET.encode(), np.uint8)] = np.arange(len(ALPHABET))
    stream = torch.from_numpy(table[np.frombuffer(text.encode(), np.uint8)])
    return stream.unfold(0, context_length + 1, context_length).contiguous()


def _shifted(sequences: Tensor) -> Batch:
    return sequences[:, :-1], sequences[:, 1:]
