"""Judges the formulas by all rules, as a page in Markdown."""

from __future__ import annotations

import argparse

from codegen import pipeline
from codegen.commands.analysis import analyze
from codegen.commands.chosen import add_files, chosen_paths
from codegen.commands.process import ERRORS, OK


def add_options(parser: argparse.ArgumentParser) -> None:
    add_files(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    paths = chosen_paths(arguments, parser, about_ours=True)
    result = None if paths is None else analyze(paths)
    if paths is None or result is None:
        return ERRORS
    print(pipeline.judgement(paths, result), end="")
    return OK
