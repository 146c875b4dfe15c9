"""Advice on what the determinism settings of a run can't make good."""

from __future__ import annotations

from golden.trace.trace import Trace

# Those that divide by a square root, which MKL's vector functions round by the vendor of the CPU.
_OTHERWISE = {
    ("Adam", "AdamW", "Adagrad"): " without fused=True",
    ("RMSprop", "Adadelta", "NAdam", "RAdam"): ", which has no fused version,",
}


def notes(trace: Trace) -> list[str]:
    """Return advice on a recorded run, one line each."""
    return [*_clock(trace), *unmatched(trace), *_rounding(trace)]


def unmatched(trace: Trace) -> list[str]:
    """Return patterns of unstable fields that name none: one that is misspelt leaves nothing out."""
    seen = {pattern for process in trace.processes for pattern in process.unstable_seen}
    return [
        f"unstable = {pattern!r} matches no field of its events, outputs or extra state"
        for pattern in trace.about.unmatched
        if pattern not in seen
    ]


def _clock(trace: Trace) -> list[str]:
    """Say what was taken for a step, where it is not an optimizer's."""
    classes = {step.layout.optimizer_class for process in trace.processes for step in process.steps}
    if "BackwardPass" in classes:
        return ["steps are backward passes: the program made no optimizer of torch.optim before them"]
    if not classes:
        return ["no step was seen, neither of an optimizer nor a backward pass: only output and events count"]
    return []


def _rounding(trace: Trace) -> list[str]:
    if trace.about.fingerprint.get("profile") != "portable" or trace.about.fingerprint.get("device") != "cpu":
        return []
    unfused = {
        step.layout.optimizer_class
        for process in trace.processes
        for step in process.steps
        if step.settings.get("group 0 fused") != "True"
    }
    return [
        f"{name}{how} takes square roots that round otherwise on a CPU of another vendor, whatever the "
        "profile: its parameters then differ there"
        for names, how in _OTHERWISE.items()
        for name in sorted(unfused.intersection(names))
    ]
