"""Fails where something is seldom meant, or a rule is not proven."""

from __future__ import annotations

import argparse
import json
import sys

from codegen.commands import proofs
from codegen.commands.analysis import analyze
from codegen.commands.chosen import add_files, add_json, chosen_paths
from codegen.commands.diagnostics import as_values, print_diagnostics
from codegen.commands.process import ERRORS, OK


def add_options(parser: argparse.ArgumentParser) -> None:
    add_files(parser)
    add_json(parser)
    proofs.add_no_verify(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    paths = chosen_paths(arguments, parser)
    result = None if paths is None else analyze(paths, arguments.json)
    if paths is None or result is None:
        return ERRORS
    unproven = proofs.wanted_findings(result, paths, arguments.no_verify)
    if arguments.json:
        print(json.dumps([*as_values(result.findings, "warning"), *as_values(unproven)], indent=2))
    elif result.findings or unproven:
        if result.findings:
            print_diagnostics(result.findings, sys.stderr, severity="warning")
        if unproven:
            print_diagnostics(unproven, sys.stderr)
    else:
        print("nothing found")
    return ERRORS if result.findings or unproven else OK
