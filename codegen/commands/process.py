"""How the process of a command was started, and with which status it ends."""

from __future__ import annotations

import sys
from pathlib import Path

from codegen.module_names import PREFIX

# Errors in the YAML, output that is stale, or no build, are 1; wrong usage is 2.
OK, ERRORS, USAGE = 0, 1, 2
PIPE_CLOSED = 141  # as shells say it


def program() -> tuple[str, ...]:
    """The words that call the program, as the user wrote them."""
    return ("gradwright",) if PREFIX or Path(sys.argv[0]).name == "gradwright" else ("python", "-m", "codegen")
