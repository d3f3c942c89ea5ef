"""``python -m hotenv``."""

import sys

from hotenv.cli.main import main

sys.exit(main())
