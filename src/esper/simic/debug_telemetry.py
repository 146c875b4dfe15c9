"""The specification's home of `LayerGradientStats`; it lives in `simic.telemetry`."""

from esper.simic.telemetry import LayerGradientStats as LayerGradientStats
