"""Generates, and compiles the native core, or the operators of a package, as far as something has changed."""

from __future__ import annotations

import argparse
import time

from codegen.commands.chosen import chosen_paths
from codegen.commands.generate import add_generation, generate_changed
from codegen.commands.process import ERRORS, OK
from codegen.words import BUILT_IN_NAMESPACE, TARGETS


def add_options(parser: argparse.ArgumentParser) -> None:
    add_generation(parser)
    parser.set_defaults(check=False)
    parser.add_argument(
        "--sanitize",
        nargs="?",
        const="address",
        choices=("address", "thread"),
        help="under AddressSanitizer, in build/sanitize; or ThreadSanitizer, in build/sanitize-thread",
    )
    parser.add_argument("--optional", action="store_true", help="a machine without compiler or CMake is no error")


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    started = time.perf_counter()
    paths = chosen_paths(arguments, parser, about_ours=arguments.out is not None)
    if paths is None:
        return ERRORS
    in_package = paths.namespace != BUILT_IN_NAMESPACE
    if in_package and arguments.sanitize:
        parser.error("--sanitize is for Gradwright's own operators")
    status = generate_changed(arguments, paths, TARGETS, started)
    if status != OK:
        return status
    # Loaded when there is something to compile.
    if in_package:
        from codegen.commands.build_package import build_package

        return build_package(paths, arguments.optional, arguments.no_verify)
    from codegen.commands.build_core import build_core

    return build_core(paths, arguments.sanitize, arguments.optional)
