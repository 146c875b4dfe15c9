"""``python -m codemods.hotpath``."""

from codemods.hotpath.cli import main
from esper_harness import leave

leave(main())
