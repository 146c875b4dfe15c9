"""``python -m codemods.audit``."""

from codemods.audit.cli import main
from esper_harness.commands import leave

leave(main())
