"""``python -m codemods.hotpath``."""

import sys

from codemods.hotpath.cli import main

sys.exit(main())
