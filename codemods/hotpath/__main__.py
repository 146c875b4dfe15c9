"""``python -m codemods.hotpath``."""

from codemods.hotpath.cli import main
from esper_harness.commands import leave

leave(main())
