"""The growable model: hosts, slots, seeds and how they are blended in."""

from esper.kasmina.blueprints import BLUEPRINTS, Blueprint, build_seed
from esper.kasmina.cnn_host import CNNHost
from esper.kasmina.fused import separately
from esper.kasmina.gates import GateConfig, gate_config
from esper.kasmina.hosts import create_host, create_text_host
from esper.kasmina.model import MorphogeneticModel
from esper.kasmina.schedule import AlphaSchedule
from esper.kasmina.slot import SeedSlot, SlotTelemetry
from esper.kasmina.snapshot import ModelSnapshot
from esper.kasmina.transformer_host import TransformerHost

__all__ = [
    "BLUEPRINTS",
    "AlphaSchedule",
    "Blueprint",
    "CNNHost",
    "GateConfig",
    "ModelSnapshot",
    "MorphogeneticModel",
    "SeedSlot",
    "SlotTelemetry",
    "TransformerHost",
    "build_seed",
    "create_host",
    "create_text_host",
    "gate_config",
    "separately",
]
