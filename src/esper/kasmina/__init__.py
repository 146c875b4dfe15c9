"""The growable model: hosts, slots, seeds and how they are blended in."""

from esper.kasmina.blueprints import BLUEPRINTS, build_seed
from esper.kasmina.gates import GateConfig, gate_config
from esper.kasmina.host import CNNHost, create_host
from esper.kasmina.model import MorphogeneticModel
from esper.kasmina.schedule import AlphaSchedule
from esper.kasmina.slot import SeedSlot, SlotTelemetry
from esper.kasmina.snapshot import ModelSnapshot

__all__ = [
    "BLUEPRINTS",
    "AlphaSchedule",
    "CNNHost",
    "GateConfig",
    "ModelSnapshot",
    "MorphogeneticModel",
    "SeedSlot",
    "SlotTelemetry",
    "build_seed",
    "create_host",
    "gate_config",
]
