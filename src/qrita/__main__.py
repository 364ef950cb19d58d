"""`python -m qrita` is the command `qrita`."""

import sys

from qrita.cli import main

sys.exit(main())
