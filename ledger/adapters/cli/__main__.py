"""`python -m ledger.adapters.cli`, for where the command is not on the path."""

import sys

from ledger.adapters.cli.entry import main

sys.exit(main())
