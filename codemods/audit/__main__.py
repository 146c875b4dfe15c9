"""``python -m codemods.audit``."""

import sys

from codemods.audit.cli import main

sys.exit(main())
