"""`python -m gradwright run script.py [arguments]`: a program that imports torch runs on Gradwright.

`graph` in the place of `run` draws its backward graph, too. All else is for the generator: `python -m gradwright list`
is `python -m codegen list`.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

from codegen.commands.main import main
from codegen.commands.process import USAGE
from gradwright.as_torch import install

_USAGE = "usage: python -m gradwright run script.py [arguments], or run -m module [arguments]"


def run(arguments: Sequence[str]) -> int:
    """Run a program as Python would, where `import torch` gives Gradwright; the exit status of a wrong call is 2."""
    module = arguments[:1] == ["-m"]
    rest = list(arguments[1:] if module else arguments)
    if not rest or (not module and rest[0].startswith("-")):
        print(_USAGE, file=sys.stderr)
        return USAGE
    install()
    sys.argv = rest
    if module:
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")
    return 0


def gradwright() -> int:
    """The command `gradwright`: the exit status."""
    if sys.argv[1:2] == ["run"]:
        return run(sys.argv[2:])
    if sys.argv[1:2] == ["graph"]:
        from gradwright.graph_command import draw_program  # a generation needs none of the library

        return draw_program(sys.argv[2:], run)
    return main()


if __name__ == "__main__":
    sys.exit(gradwright())
