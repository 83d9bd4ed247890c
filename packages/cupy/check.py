"""`python -m packages.cupy.check` in a checkout: generates what is missing, and checks the device `cuda`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> int:
    """The exit status of `gradwright_cupy.check`."""
    subprocess.run([sys.executable, "-m", "codegen", "--no-verify"], check=True)
    subprocess.run([sys.executable, "-m", "gradwright", "generate", "--no-verify"], cwd=FOLDER, check=True)
    sys.path.insert(0, str(FOLDER))
    from gradwright_cupy.check import main as check

    return check()


if __name__ == "__main__":
    sys.exit(main())
