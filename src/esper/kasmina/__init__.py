"""The growable model: hosts, slots, seeds and how they are blended in."""

from esper.kasmina.blending import AlphaSchedule, separately
from esper.kasmina.blueprints import BLUEPRINTS, Blueprint, build_seed
from esper.kasmina.gates import GateConfig, gate_config
from esper.kasmina.hosts import CNNHost, TransformerHost, create_host, create_text_host
from esper.kasmina.model import ModelSnapshot, MorphogeneticModel
from esper.kasmina.slot import SeedSlot, SlotTelemetry

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
