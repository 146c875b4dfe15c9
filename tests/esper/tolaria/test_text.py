"""Text: the same everywhere, and predicted character by character."""

import hashlib
from pathlib import Path

import pytest
import torch

from esper.leyline.errors import InputError
from esper.runtime import get_task_spec
from esper.tolaria.data import SharedBatchIterator, load_data
from esper.tolaria.models import count_correct, mean_loss, summed_loss
from esper.tolaria.text import ALPHABET, generate_text, sample_text

TASK = get_task_spec("char_lm")
CPU = torch.device("cpu")


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


def test_every_env_sees_every_sequence_once_an_epoch() -> None:
    data = generate_text(16, 20, 7)
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
    steps = list(SharedBatchIterator(data, 6, [CPU] * 2, generators))
    for env in (0, 1):
        seen = torch.cat([step[env][0] for step in steps])
        assert sorted(seen.tolist()) == sorted(data.train_sequences[:, :-1].tolist())


def test_validation_text_is_other_text() -> None:
    data = generate_text(64, 50, 50)
    assert not set(map(tuple, data.val_sequences.tolist())) & set(map(tuple, data.train_sequences.tolist()))


def test_a_text_task_takes_no_images() -> None:
    with pytest.raises(InputError, match="--data-dir x: task char_lm generates its text"):
        load_data(TASK, Path("x"))
    with pytest.raises(InputError, match="--download: task char_lm generates its text"):
        load_data(TASK, None, download=True)
    assert load_data(TASK, None, train_images=3, val_images=2).val_size == 2


def test_losses_and_correct_answers_count_every_target() -> None:
    logits = torch.randn(2, 4, 5, 9, generator=torch.Generator().manual_seed(0))
    targets = torch.randint(0, 9, (4, 5), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(summed_loss(logits[0], targets), 20 * mean_loss(logits[0], targets))
    right = [(each.argmax(-1) == targets).sum().item() for each in logits]
    assert count_correct(logits, targets).tolist() == right
    assert count_correct(logits[1], targets).item() == right[1]
    assert count_correct(logits[:, :, 0], targets[:, 0]).shape == (2,)
