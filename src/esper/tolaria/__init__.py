"""Execution: data, device streams, precision, the model factory, the engines and the watchdog of hosts."""

from esper.tolaria.governor import Governor as TolariaGovernor

__all__ = ["TolariaGovernor"]
