"""The page about the code of a message."""

from __future__ import annotations

import re
import sys

from codegen.codes import Code
from codegen.commands.process import OK, USAGE
from codegen.messages.pages import page_text
from codegen.words import did_you_mean


def is_code(name: str) -> bool:
    """Whether a name is one of a code, and not of an operator."""
    return re.fullmatch(r"GW\d+", name, re.IGNORECASE) is not None


def print_page(name: str) -> int:
    """Print the page of a code.

    Returns:
        The exit status: 0, or 2 with the reason on standard error.
    """
    known = {str(code): code for code in Code}
    code = known.get(name.upper())
    if code is None:
        hint = did_you_mean(name.upper(), known)
        print(f"error: no code '{name}'" + (f"\nhint: {hint}" if hint else ""), file=sys.stderr)
        return USAGE
    print(page_text(code))
    return OK
