"""Methods of what puts a program on its devices: accelerate's ``Accelerator`` and Lightning's ``Fabric``."""

from __future__ import annotations

from codemods.hotpath.arguments import Arguments
from codemods.hotpath.kinds import (
    HOST,
    LOADER,
    PREPARED,
    TENSOR,
    UNKNOWN,
    Kind,
    holds_tensor,
    mapping,
    on_device,
    tup,
)
from codemods.hotpath.outcome import Outcome
from codemods.hotpath.vocabulary import LAUNCHER
from codemods.program.source import words

_CLASSES = ("Accelerator", "Fabric")
_PREPARES = words("""
    prepare prepare_data_loader prepare_model prepare_optimizer setup setup_dataloaders setup_module
    setup_optimizers skip_first_batches
""")
_HANDS_ON = words("""
    all_gather all_reduce broadcast clip_grad_norm_ gather gather_for_metrics pad_across_processes reduce
    to_device unwrap_model
""")
_WRITES = {"print": "HP009", "log": "HP019", "log_dict": "HP019"}
_STALLS = {
    "barrier": "HP017",
    "check_trigger": "HP014",
    "free_memory": "HP018",
    "save_model": "HP016",
    "save_state": "HP016",
    "wait_for_everyone": "HP017",
}


def is_launcher(dotted: str) -> bool:
    """Tell whether a class outside the program is one of them."""
    return dotted.rpartition(".")[2] in _CLASSES


def named_launcher(arguments: Arguments) -> bool:
    """Tell whether what a method is called on is called like one of them."""
    return LAUNCHER.search(arguments.receiver) is not None


def launcher_method(name: str, arguments: Arguments) -> Outcome | None:
    """Call a method of one of them; None for what they don't have."""
    given = arguments.all()
    if name in _PREPARES:
        parts = tuple(map(_prepared, arguments.positional))
        return Outcome(parts[0] if len(parts) == 1 or name == "skip_first_batches" else tup(parts))
    if name in _HANDS_ON:
        first = arguments.first() or UNKNOWN
        if name == "unwrap_model":
            return Outcome(first.of if first.tag == "spread" else first)
        return Outcome(on_device(first) if name == "to_device" else first)
    if name in _STALLS:
        return Outcome(HOST, _STALLS[name])
    if name in _WRITES:
        return Outcome(HOST, _WRITES[name] if any(map(holds_tensor, given)) else None)
    if name == "save":
        return Outcome(HOST, "HP016" if any(map(holds_tensor, given)) else None)
    if name == "clip_gradients":
        # It looks for what is not finite, unless it is told not to, or clips one by one.
        looks = not arguments.says("error_if_nonfinite", False) and "clip_val" not in arguments.keywords
        return Outcome(TENSOR, "HP014" if looks else None, "queued")
    if name == "backward":
        return Outcome(HOST, after="queued")
    return Outcome(mapping(TENSOR)) if name == "get_state_dict" else None


def _prepared(kind: Kind) -> Kind:
    """Return the kind of a module, an optimizer or a loader after it was put on the device."""
    return Kind("inst", PREPARED) if kind == Kind("inst", LOADER) else kind
