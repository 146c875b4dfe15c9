"""Changes that let the gate pass more: the gate configuration of the base beside that of the head."""

from ci.changes.compare import Weakening, accepts
from ci.changes.weakened import weakened

__all__ = ["Weakening", "accepts", "weakened"]
