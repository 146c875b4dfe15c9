"""``python -m codemods.review``."""

from codemods.review.cli import main
from esper_harness import leave

leave(main())
