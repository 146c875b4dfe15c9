"""The specification's home of `RunningMeanStd`; it lives in `simic.control`."""

from esper.simic.control import RunningMeanStd as RunningMeanStd
