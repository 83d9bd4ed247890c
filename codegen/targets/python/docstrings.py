"""Docstrings of packets: signatures, what they compute, formulas, and examples with what they print.

They are the text file `docstrings.txt`, which `runtime.call.docstrings` reads.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from codegen.plan.documentation import OverloadDocumentation
from codegen.targets.python.code import STEP
from codegen.targets.python.examples import MODULE

_COLUMNS = 100  # of text that people read
Results = Mapping[tuple[str, ...], tuple[str, ...]]


def packet_docstring(
    overloads: Sequence[OverloadDocumentation], examples: Sequence[tuple[str, ...]], results: Results
) -> str:
    """The docstring of a packet.

    Args:
        overloads: what there is to say of them.
        examples: their lines, as an interpreter shows them.
        results: what they print, where that is known.
    """
    return "".join(f"{line}\n" for line in (*_lines(overloads), *_example_lines(examples, results)))


def _lines(overloads: Sequence[OverloadDocumentation]) -> Iterator[str]:
    for overload in overloads:
        yield from _wrapped(overload.signature, "")
    yield from _sentences(overloads, [overload.about for overload in overloads])
    yield from _derivatives(overloads)


def _example_lines(examples: Sequence[tuple[str, ...]], results: Results) -> Iterator[str]:
    if examples:
        yield from ("", "Examples:" if len(examples) > 1 else "Example:", f"{STEP}>>> import {MODULE}")
    for lines in examples:
        yield from (f"{STEP}{line}" for line in (*lines, *results.get(lines, ())))


def _sentences(overloads: Sequence[OverloadDocumentation], said: Sequence[str]) -> Iterator[str]:
    """What is said of the overloads, each once; of which, where it is not all of them."""
    for sentence in dict.fromkeys(filter(None, said)):
        whose = [_name(overload) for overload, each in zip(overloads, said, strict=True) if each == sentence]
        text = sentence if len(whose) == len(overloads) else f"{', '.join(whose)}: {sentence}"
        yield from ("", *_wrapped(text, "", ""))


def _derivatives(overloads: Sequence[OverloadDocumentation]) -> Iterator[str]:
    """The formulas as derivatives.yaml has them; whose they are is said where there are several overloads."""
    yield from _sentences(overloads, [overload.derivative for overload in overloads])
    for overload in overloads:
        if overload.formulas:
            yield from ("", f"Derivative of {_name(overload)}:" if len(overloads) > 1 else "Derivative:")
            for formula in overload.formulas:
                yield from _wrapped(formula, STEP)


def _name(overload: OverloadDocumentation) -> str:
    return overload.signature.partition("(")[0]


def _wrapped(text: str, indent: str, deeper: str = STEP) -> list[str]:
    text = " ".join(text.split())
    if len(indent) + len(text) <= _COLUMNS:
        return [indent + text]
    return textwrap.wrap(
        text,
        _COLUMNS,
        initial_indent=indent,
        subsequent_indent=indent + deeper,
        break_on_hyphens=False,
        break_long_words=False,
    )
