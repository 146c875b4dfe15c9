"""Makes hosts whose initial weights come from a given generator."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Generator

from esper.kasmina.cnn_host import CNNHost
from esper.kasmina.initialise import materialise
from esper.kasmina.transformer_host import TransformerHost
from esper.leyline import SlotConfig


def create_host(
    widths: Sequence[int],
    *,
    num_classes: int,
    generator: Generator,
    slot_config: SlotConfig | None = None,
    halved: Sequence[bool] | None = None,
) -> CNNHost:
    """A convolutional host initialised from `generator`, on its device."""
    slots = slot_config or SlotConfig()
    return materialise(lambda: CNNHost(widths, num_classes, slots, halved), generator)


def create_text_host(
    widths: Sequence[int],
    *,
    alphabet: int,
    context_length: int,
    generator: Generator,
    slot_config: SlotConfig,
) -> TransformerHost:
    """A transformer host initialised from `generator`, on its device."""
    return materialise(lambda: TransformerHost(widths, alphabet, context_length, slot_config), generator)
