"""Execution: data, device streams, mixed precision, the model factory and the safety governor."""
