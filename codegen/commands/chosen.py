"""Which files a command is about: those that its options name, the project's around the user, or Gradwright's own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from codegen.inputs import data_folder, root_folder
from codegen.paths import Paths, find_project, project_paths
from codegen.words import BUILT_IN_NAMESPACE, FRAMEWORKS


def chosen_paths(
    arguments: argparse.Namespace, parser: argparse.ArgumentParser, about_ours: bool = False
) -> Paths | None:
    """The inputs and the output of a command; None where the project's table is wrong, which has been printed then.

    Ends the process with a message (status 2) where a command that writes or judges has no project here: Gradwright's
    own operators are one only in the folders of its checkout.

    Args:
        arguments: of the command.
        parser: which ends the process.
        about_ours: whether the command means Gradwright's own operators wherever it is called: it shows them, proves
            those that it names, or generates them into a folder that it names.
    """
    paths = project_paths()
    named = (arguments.native_functions, arguments.derivatives, arguments.tags, arguments.helpers)
    if not any(named):
        file = find_project(Path.cwd())
        if file is not None:
            return _project(file, arguments)
        if not about_ours and not _in_checkout():
            parser.error(
                "there is no project here: no pyproject.toml with a table [tool.gradwright] in this folder or above; "
                "'gradwright init NAME' makes one"
            )
    foreign = arguments.native_functions
    if foreign is not None and not arguments.strict and foreign.resolve() != paths.native_functions.resolve():
        paths = paths.foreign(foreign, arguments.helpers)
    return replace(
        paths,
        native_functions=foreign or paths.native_functions,
        derivatives=arguments.derivatives or paths.derivatives,
        output=arguments.out or paths.output,
        tags=arguments.tags,
        helpers=paths.helpers or tuple(arguments.helpers),
        long_names=arguments.long_names or paths.long_names,
    )


def refuse_frameworks(targets: Iterable[str], paths: Paths, parser: argparse.ArgumentParser) -> None:
    """End the process with a message (status 2) where Gradwright's own operators are asked for as a framework's."""
    for target in targets:
        if target in FRAMEWORKS and paths.namespace == BUILT_IN_NAMESPACE:
            parser.error(
                f"--target {target} is for the operators of a package, in whose folder it is called: Gradwright's own "
                "operators are not written for other frameworks"
            )


def _in_checkout() -> bool:
    """Whether the folder is one of the checkout that this Gradwright runs from."""
    return data_folder() == root_folder() and Path.cwd().resolve().is_relative_to(root_folder())


def add_files(parser: argparse.ArgumentParser, judged: argparse._ActionsContainer | None = None) -> None:
    """The options that say which files a command is about.

    Args:
        parser: of the command.
        judged: where `--strict` goes of a command that warns of what is seldom meant; None where it does not.
    """
    parser.set_defaults(long_names=False, json=None)  # what `chosen_paths` asks of each command
    parser.add_argument("--native-functions", type=Path, metavar="FILE", help="operator signatures and dispatch")
    parser.add_argument("--derivatives", type=Path, metavar="FILE", help="derivative formulas")
    parser.add_argument("--tags", type=Path, metavar="FILE", help="the tags that these operators may have")
    parser.add_argument(
        "--helpers", type=Path, metavar="FILE", action="append", default=[],
        help="signatures of helpers that formulas call, in YAML or a header of C++; may be given again (default with "
        "foreign operators, and behind headers: those of PyTorch)",
    )  # fmt: skip
    late = "with --native-functions: a kernel that does not exist is an error, and not bound late"
    (judged or parser).add_argument(
        "--strict", action="store_true",
        help=late if judged is None else f"what is seldom meant is an error, and no warning; {late}",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the output lies (default: generated/)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option of what programs read."""
    parser.add_argument("--json", action="store_true", help="print as JSON, on standard output")


def named_files(arguments: argparse.Namespace) -> tuple[Path, ...]:
    """The YAML files that options name: where there are any, a command writes no others."""
    return tuple(path for path in (arguments.native_functions, arguments.derivatives) if path is not None)


def _project(file: Path, arguments: argparse.Namespace) -> Paths | None:
    # Imported here: a run in the checkout that finds nothing to do is done before these are loaded.
    from codegen.commands.diagnostics import print_diagnostics
    from codegen.project import read_project
    from codegen.source import Diagnostics

    diagnostics = Diagnostics()
    paths = read_project(file, diagnostics)
    if paths is None:
        if arguments.json:
            print_diagnostics(diagnostics, sys.stdout, as_json=True)
        else:
            print_diagnostics(diagnostics, sys.stderr)
        return None
    return paths if arguments.out is None else replace(paths, output=arguments.out)
