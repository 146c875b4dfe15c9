"""Names that the observer writes about what lives, and that are read again.

Loaded by the program under test under a private name; alone, so that it needn't load what reads them.
"""

from collections.abc import Mapping

# Of tensors at a step, in causal order: what comes first can be the cause of what follows.
KINDS = ("buffers", "grads", "params", "state")
# Of tensors in modules.
MODULE_KINDS = ("params", "buffers")
# The look at the end of the process; what went before is in it, too, as it went.
END = "the end"
# How a tensor's digest was made, as a trace tells it: xxh3 of its bytes on the host, or sums where it is.
HOST, SUMS = "xxh3", "sums"
# So many operations before a step are logged.
OPERATIONS_AT_MOST = 200_000
# The title of the one kind of a step that records have under a name of its own.
RANDOM_STATE = "random state"


def recorded(found: Mapping[str, object]) -> dict[str, object]:
    """Return what the kinds of a step hold, by title, as a record has it."""
    rest = {title: fields for title, fields in found.items() if title != RANDOM_STATE}
    return {"rng": found.get(RANDOM_STATE, {}), **({"kinds": rest} if rest else {})}
