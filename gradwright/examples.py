"""The examples in the docstrings of operators: they are run here, and what they print is compared or written down.

    python -m gradwright.examples              compare, for the operators of this project
    python -m gradwright.examples --update     write what they print to docs/reports/examples.txt
    python -m gradwright.examples mylib._generated --update

Examples of a package are written beside its native_functions.yaml.  What is written gets into the docstrings with the
next generation.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.inputs import REPORTS
from codegen.module_names import GENERATED
from codegen.writing import write_text
from runtime.call.failures import yaml_of

FILE = "examples.txt"
FAILED = "Traceback: "
# A number with a fraction or an exponent as a Tensor prints it.
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*(?:e(?P<exponent>[+-]\d+))?|\d+e[+-]\d+)")
# Of the largest number that an example prints: what is smaller is left of numbers that cancel, and another processor or
# BLAS leaves something else.
NOISE = 1e-6


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
        if self.printed.startswith(FAILED):
            return False
        return not self.wanted or agree(self.wanted, self.printed)


def agree(wanted: str, printed: str) -> bool:
    """Whether two printed results say the same but for rounding, which depends on the processor and the BLAS.

    Numbers with a fraction may differ by one in the last digit that `wanted` shows, and by `NOISE` of the largest
    number there: what is left of numbers that cancel counts as zero.  All other text is the same but for the widths
    of columns.
    """
    numbers = [float(match[0]) for match in _FLOAT.finditer(wanted)]
    others = [float(match[0]) for match in _FLOAT.finditer(printed)]
    if _without_floats(wanted) != _without_floats(printed) or len(numbers) != len(others):
        return False
    noise = NOISE * max(map(abs, numbers), default=0.0)
    digits = [_last_digit(match) for match in _FLOAT.finditer(wanted)]
    return all(abs(a - b) <= noise + digit for a, b, digit in zip(numbers, others, digits, strict=True))


def noise_in(printed: str) -> list[str]:
    """The numbers of a printed result that are rounding errors next to the largest one there."""
    numbers = [match[0] for match in _FLOAT.finditer(printed)]
    largest = max((abs(float(number)) for number in numbers), default=0.0)
    return [number for number in numbers if 0 < abs(float(number)) < NOISE * largest]


def _without_floats(text: str) -> str:
    return "".join(_FLOAT.sub("#", text).split())


def _last_digit(match: re.Match[str]) -> float:
    """One in the last place that is shown, 1e-05 for `1.25e-03`, and a little more for the rounding of differences."""
    fraction = match[0].partition("e")[0].partition(".")[2]
    return float(1.01 * 10.0 ** (int(match["exponent"] or 0) - len(fraction)))


def outcomes(package: str = GENERATED) -> Iterator[Outcome]:
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


def file_of(package: str = GENERATED) -> str:
    """Where the results of a package's examples are written down."""
    folder = os.path.dirname(yaml_of(package))
    return os.path.join(folder, REPORTS, FILE) if package == GENERATED else os.path.join(folder, FILE)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, or write down; the exit status is 1 where an example prints something else."""
    parser = argparse.ArgumentParser(
        prog="python -m gradwright.examples", description="Runs the examples of operators."
    )
    parser.add_argument("package", nargs="?", default=GENERATED, help="%(default)s (default), or mylib._generated")
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
