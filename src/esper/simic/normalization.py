"""The specification's home of `RunningMeanStd`; it lives in `simic.control`."""

from esper.simic.control import RunningMeanStd

__all__ = ["RunningMeanStd"]
