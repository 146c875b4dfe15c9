"""The growable model: hosts, slots, seeds and how they are blended in."""

from esper.kasmina.blending import AlphaSchedule as AlphaSchedule
from esper.kasmina.blending import separately as separately
from esper.kasmina.blueprints import BLUEPRINTS as BLUEPRINTS
from esper.kasmina.blueprints import build_seed as build_seed
from esper.kasmina.gates import GateConfig as GateConfig
from esper.kasmina.gates import gate_config as gate_config
from esper.kasmina.hosts import CNNHost as CNNHost
from esper.kasmina.hosts import TransformerHost as TransformerHost
from esper.kasmina.hosts import create_host as create_host
from esper.kasmina.hosts import create_text_host as create_text_host
from esper.kasmina.model import ModelSnapshot as ModelSnapshot
from esper.kasmina.model import MorphogeneticModel as MorphogeneticModel
from esper.kasmina.slot import SeedSlot as SeedSlot
