"""``python -m codemods.hotpath``."""

from codemods.hotpath.cli import main
from codemods.output import leave

leave(main())
