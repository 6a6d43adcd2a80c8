"""``python -m flora``: the command line."""

import sys

from flora.cli.main import main

sys.exit(main())
