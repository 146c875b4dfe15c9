"""What a captured variable is, as far as the program says it, and how an annotation states that."""

from typing import Literal, get_args

Style = Literal["inferred", "any", "none"]
"""What captures are annotated with: what the program says, ``Any`` where it does not say, or nothing."""
STYLES: tuple[Style, ...] = get_args(Style)
