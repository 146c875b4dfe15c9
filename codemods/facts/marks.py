"""Words by which a file shows that it looks at something that a move or a lift changes.

A file may look at what another one made, so these are searched in texts and bind nobody: a word is enough.
"""

from __future__ import annotations

import re
from typing import Literal

Mark = Literal["annotations", "doctest", "log file", "log function", "module", "pickles"]

# What each mark is, in words, after the file that has it.
SAYS: dict[Mark, str] = {
    "annotations": "may evaluate annotations",
    "doctest": "runs doctests",
    "log file": "shows the module or file that a log record comes from",
    "log function": "shows the function that a log record comes from",
    "module": "asks what is defined for its module",
    "pickles": "loads pickles, which name modules",
}
_PATTERNS: dict[Mark, re.Pattern[bytes]] = {
    "annotations": re.compile(
        rb"\b(get_type_hints|get_annotations|eval_str|resolve_types|ForwardRef|evaluate_forward_ref|pydantic"
        rb"|cattrs|dacite|jsonargparse|msgspec|omegaconf|hydra|simple_parsing|typer|tyro)\b"
    ),
    "doctest": re.compile(rb"\bdoctest\b"),
    "log file": re.compile(
        r"%\((?:F)\)|\brecord\.(?:F)\b|\{(?:F)[^}\n]*\}[^\n]*\{(?:M)\b|\{(?:M)[^}\n]*\}[^\n]*\{(?:F)\b".replace(
            "F", "filename|module|pathname"
        )
        .replace("M", "asctime|levelname|message|msg")
        .encode()
    ),
    "log function": re.compile(rb"\bfuncName\b"),
    "module": re.compile(rb"\b__module__\b|\bgetmodule\b|\bgetsourcefile\b"),
    "pickles": re.compile(
        rb"\b(pickle|cPickle|_pickle|cloudpickle|dill|joblib)\.(load|loads|Unpickler)\b|\bshelve\b|\bUnpickler\b"
        rb"|from\s+(pickle|dill|cloudpickle|joblib)\s+import|weights_only\s*=\s*False"
    ),
}
# One of these is in any text that has a mark, and few others.
_WORDS: dict[Mark, tuple[bytes, ...]] = {
    "doctest": (b"doctest",),
    "log file": (b"filename", b"module", b"pathname"),
    "log function": (b"funcName",),
    "module": (b"__module__", b"getmodule", b"getsourcefile"),
}
ANYWHERE: tuple[Mark, ...] = ("log file", "log function")


def has_mark(data: bytes, mark: Mark) -> bool:
    """Whether a file's bytes have one of the words of a mark."""
    words = _WORDS.get(mark)
    if words is not None and not any(word in data for word in words):
        return False
    return _PATTERNS[mark].search(data) is not None
