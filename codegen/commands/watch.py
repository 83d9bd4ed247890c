"""Generates, and proves, each time that one of the files is saved; Ctrl-C ends it."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from codegen.commands.chosen import chosen_paths
from codegen.commands.generate import add_generation
from codegen.commands.process import ERRORS, OK
from codegen.output import source_files
from codegen.paths import Paths
from codegen.words import TARGETS

_INTERVAL = 0.3  # seconds between two looks at the files
_PROGRAM = __package__.removesuffix(".commands")  # which has another name in a wheel


def add_options(parser: argparse.ArgumentParser) -> None:
    add_generation(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    paths = chosen_paths(arguments, parser)
    if paths is None:
        return ERRORS
    known: Mapping[Path, tuple[int, int]] | None = None
    try:
        while True:
            now = _saved(paths)
            if now != known:
                known = now
                subprocess.run([sys.executable, "-m", _PROGRAM, *arguments.words], check=False)
                print("waiting for a file to be saved; Ctrl-C ends", file=sys.stderr, flush=True)
            time.sleep(_INTERVAL)
    except KeyboardInterrupt:
        return OK


def _saved(paths: Paths) -> dict[Path, tuple[int, int]]:
    """When each file was saved, in nanoseconds, and its size; a file that is missing may come again."""
    states = {}
    for path in source_files(paths, TARGETS[0]):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        states[path] = status.st_mtime_ns, status.st_size
    return states
