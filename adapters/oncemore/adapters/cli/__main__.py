"""How is the program started where it is not on the path? `python -m oncemore.adapters.cli`."""

from __future__ import annotations

import sys

from oncemore.adapters.cli import main

sys.exit(main())
