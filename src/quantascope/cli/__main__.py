"""`python -m quantascope.cli`."""

import sys

from quantascope.cli.main import main

sys.exit(main())
