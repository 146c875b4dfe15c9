"""What a run does that its determinism settings can't make good."""

from __future__ import annotations

from golden.trace.trace import Trace

_HAVE_FUSED = ("Adam", "AdamW", "SGD", "Adagrad")


def notes(trace: Trace) -> list[str]:
    """Advice on a recorded run, one line each."""
    if trace.about.fingerprint.get("profile") != "portable":
        return []
    unfused = {
        step.layout.optimizer_class
        for process in trace.processes
        for step in process.steps
        if step.layout.optimizer_class in _HAVE_FUSED and step.settings.get("group 0 fused") != "True"
    }
    return [
        f"{name} without fused=True may round differently on another CPU, whatever the profile"
        for name in sorted(unfused)
    ]
