"""``python -m codemods.audit``."""

from codemods.audit.cli import main
from codemods.output import leave

leave(main())
