"""Execution: data, device streams, precision, the model factory, the engines and the watchdog of hosts."""
