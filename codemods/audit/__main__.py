"""``python -m codemods.audit``."""

from codemods.audit.cli import main
from esper_harness import leave

leave(main())
