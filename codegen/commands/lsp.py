"""Answers the questions of an editor by the Language Server Protocol, over standard input and output."""

from __future__ import annotations

import argparse
import importlib.util
import sys

from codegen.commands.chosen import add_files, chosen_paths, named_files
from codegen.commands.process import ERRORS, OK, USAGE

_MISSING = """\
error: an editor is answered with the packages of an extra, which are not here
hint: pip install 'gradwright[lsp]'"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_files(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if importlib.util.find_spec("pygls") is None:
        print(_MISSING, file=sys.stderr)
        return USAGE
    paths = None
    if named_files(arguments):
        paths = chosen_paths(arguments, parser)
        if paths is None:
            return ERRORS
    # Imported here, because the package that it needs is of an extra.
    from codegen.lsp.server import serve

    serve(paths)
    return OK
