"""``python -m ci.init``."""

import sys

from ci.init.command import main

if __name__ == "__main__":
    sys.exit(main())
