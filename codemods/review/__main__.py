"""``python -m codemods.review``."""

import sys

from codemods.review.cli import main

sys.exit(main())
