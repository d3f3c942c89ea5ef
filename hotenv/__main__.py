"""``python -m hotenv``."""

import sys

from hotenv.cli import main

sys.exit(main())
