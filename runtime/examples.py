"""The examples in the docstrings of operators: they are run here, and what they print is compared or written down.

    python -m runtime.examples              compare, for the operators of this project
    python -m runtime.examples --update     write what they print to examples.txt, beside native_functions.yaml
    python -m runtime.examples mylib._generated --update

What is written gets into the docstrings with the next generation.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.writing import write_text
from runtime.call.failures import yaml_of

FILE = "examples.txt"
FAILED = "Traceback: "


@dataclass(frozen=True, slots=True)
class Outcome:
    """An example of a packet: its lines as an interpreter shows them, what it is to print, and what it prints.

    `wanted` is empty where nobody has written it down.
    """

    packet: str
    code: str
    wanted: str
    printed: str

    @property
    def holds(self) -> bool:
        return self.wanted in ("", self.printed) and not self.printed.startswith(FAILED)


def outcomes(package: str = "generated") -> Iterator[Outcome]:
    """The examples of all packets of a generated package, run one after another."""
    importlib.import_module(package)
    packets = importlib.import_module(f"{package}.packets").PACKETS
    for name, packet in packets.items():
        names: dict[str, object] = {}
        for example in doctest.DocTestParser().get_examples(packet.__doc__ or ""):
            printed = _printed(example.source, names)
            lines = example.source.splitlines()
            code = "\n".join([f">>> {lines[0]}", *(f"... {line}" for line in lines[1:])])
            if not lines[0].startswith("import "):
                yield Outcome(name, code, example.want, printed)


def _printed(source: str, names: dict[str, object]) -> str:
    """What an interpreter shows; an empty line is one with `<BLANKLINE>`, as doctest reads it."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        try:
            exec(compile(source, "<example>", "single"), names)
        except Exception as error:
            print(f"{FAILED}{type(error).__name__}: {error}")
    return "".join(f"{line or doctest.BLANKLINE_MARKER}\n" for line in stream.getvalue().splitlines())


def file_of(package: str = "generated") -> str:
    """Where the results of a package's examples are written down."""
    return os.path.join(os.path.dirname(yaml_of(package)), FILE)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, or write down; the exit status is 1 where an example prints something else."""
    parser = argparse.ArgumentParser(prog="python -m runtime.examples", description="Runs the examples of operators.")
    parser.add_argument("package", nargs="?", default="generated", help="generated (default), or mylib._generated")
    parser.add_argument("--update", action="store_true", help=f"write what they print to {FILE}")
    arguments = parser.parse_args(argv)
    found = list(outcomes(arguments.package))
    if arguments.update:
        place = file_of(arguments.package)
        texts = sorted({f"{each.code}\n{each.printed}" for each in found})
        write_text(Path(place), "\n".join(texts))
        print(f"{len(texts)} examples written to {place}")
        return 0
    wrong = [each for each in found if not each.holds]
    for each in wrong:
        print(f"{each.packet}\n{each.code}\nwanted:\n{each.wanted}printed:\n{each.printed}")
    missing = sum(not each.wanted for each in found)
    print(f"{len(found)} examples, {len(wrong)} print something else, {missing} are not written down")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
