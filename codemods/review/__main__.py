"""``python -m codemods.review``."""

from codemods.output import leave
from codemods.review.cli import main

leave(main())
