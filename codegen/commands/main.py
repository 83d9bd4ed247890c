"""`python -m codegen COMMAND`: calls the module of a command, and ends as other programs end.

Each command is a module beside this one: `add_options` declares its options, and `run` carries it out.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from codegen.commands.process import OK, PIPE_CLOSED, USAGE, program
from codegen.version import VERSION
from codegen.words import INTERRUPTED

DEFAULT = "generate"
COMMANDS = {
    DEFAULT: "write the output; the command where none is named",
    "watch": "generate and prove whenever a file is saved",
    "build": "generate, and compile the native core, or the operators of a package",
    "verify": "prove the rules of derivatives",
    "lint": "fail where something is seldom meant, or a rule is not proven",
    "fix": "write the words that messages say were meant",
    "format": "keep the two YAML files in one style",
    "list": "show the operators",
    "explain": "show all about an operator, or about the code of a message",
    "derive": "show how an expression is derived, step by step",
    "coverage": "show what is proven of each operator, or what runs on a backend",
    "report": "judge the formulas",
    "init": "make a package of one's own",
    "new": "add an operator to the YAML",
    "lsp": "answer an editor",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give the exit status: 0, 1 (errors in the YAML, stale output, no build), 2 (wrong usage).

    A reader that goes away (`list | head`) and Ctrl-C end it as they end other programs; a file that can not be
    written, or is where a folder should be, is wrong usage.
    """
    try:
        status = _run_command(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _print_no_more()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename}"
        if not place:  # only what is printed goes to no file that has a name
            _print_no_more()
        print(f"error: {error.strerror or error}{place}", file=sys.stderr)
        return USAGE
    except ValueError as error:
        if "null byte" not in str(error):
            raise  # it is not about a path
        print(f"error: {error}", file=sys.stderr)
        return USAGE


def _print_no_more() -> None:
    """What is still to be flushed when the process ends goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_command(words: Sequence[str]) -> int:
    is_option = not words or words[0].startswith("-")
    if not is_option and words[0] in COMMANDS:
        name, words = words[0], words[1:]
    elif is_option and words[:1] not in (["-h"], ["--help"], ["--version"]):
        name = DEFAULT
    else:
        _parser().parse_args(words)  # which ends the process, with help or an error
        return OK
    # Only the module of this command is loaded: a generation with nothing to do is done before others are.
    command = importlib.import_module(f"{__package__}.{name}")
    parser = argparse.ArgumentParser(prog=" ".join((*program(), name)), description=command.__doc__)
    parser.set_defaults(words=words)
    command.add_options(parser)
    status: int = command.run(parser.parse_args(words), parser)
    return status


def _parser() -> argparse.ArgumentParser:
    """What knows the names of the commands."""
    parser = argparse.ArgumentParser(
        prog=" ".join(program()),
        description="Makes a differentiable library out of native_functions.yaml and derivatives.yaml: those of the "
        "nearest project, whose pyproject.toml has a table [tool.gradwright], or Gradwright's own in its checkout.",
        epilog="'COMMAND --help' shows the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"gradwright {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, about in COMMANDS.items():
        commands.add_parser(name, help=about)
    return parser
