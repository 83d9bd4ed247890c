"""Runs a program so that `sys.exit` with an error ends all processes at once: `python -m gradwright_mpi train.py`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from gradwright_mpi.waiting import end_all

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m gradwright_mpi PROGRAM [ARGUMENT ...]")
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            end_all(type(error), error, error.__traceback__)
        raise
