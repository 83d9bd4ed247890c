"""`python -m codegen`."""

from __future__ import annotations

import sys

from codegen.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
