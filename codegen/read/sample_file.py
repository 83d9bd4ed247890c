"""A samples.yaml: the calls that operators are tested with, beside the native_functions.yaml that has the operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import yaml

from codegen.codes import Code
from codegen.read.model import NativeFunction
from codegen.read.references import HINT, read_reference
from codegen.read.samples import parse_sample
from codegen.read.yaml_text import YamlFile, describe
from codegen.source import Diagnostics, ParseError, Text
from codegen.words import did_you_mean

_DOMAIN, _REFERENCE, _SAMPLES = "domain", "reference", "samples"
_HINT = "write it as '- add.Tensor:' and below it a line for each call: '  - T(3, 4), T(4)'"


@dataclass(frozen=True, slots=True)
class SampleEntry:
    """What one operator is tested with, whose whole name is `name`.

    Attributes:
        samples: the calls.
        domain: the range of those that it gets by itself.
        reference: the function that has the same values.
    """

    name: Text
    samples: tuple[Text, ...] = ()
    domain: tuple[float, float] | None = None
    reference: Text | None = None


def read_sample_list(file: YamlFile, node: yaml.Node) -> tuple[Text, ...]:
    """The calls of a list, of which those that do not parse are reported."""
    hint = "write each call on a line of its own: '- T(3, 4), T(4)'"
    texts: list[Text] = []
    for element in file.sequence(node, "'samples'", hint) or ():
        if isinstance(element, yaml.SequenceNode | yaml.MappingNode):
            file.error(Code.WRONG_SHAPE, element, f"a sample must be text, not {describe(element)}", "quote the sample")
            continue
        text = file.scalar(element, "a sample", "a call without arguments is written ''")
        if text is None:
            continue
        try:
            parse_sample(text.value)
        except ParseError as error:
            file.parse_error(Code.SAMPLE, text, error)
            continue
        texts.append(text)
    return tuple(texts)


def read_domain(file: YamlFile, node: yaml.Node) -> tuple[float, float] | None:
    """The range of random samples; None after an error."""
    hint = "write '[low, high]'; which element types the operator takes is said by 'dtypes'"
    elements = file.sequence(node, f"'{_DOMAIN}'", hint)
    if elements is None:
        return None
    if len(elements) != 2:
        file.error(Code.MALFORMED, node, f"'{_DOMAIN}' must have two numbers, not {len(elements)}", hint)
        return None
    texts = [file.scalar(element, f"an element of '{_DOMAIN}'", hint) for element in elements]
    low, high = (_number(file, text, hint) for text in texts)
    if low is None or high is None:
        return None
    if low >= high:
        message, hint = f"'{_DOMAIN}' must begin with the lower number", f"write '[{texts[1]}, {texts[0]}]'"
        file.error(Code.MALFORMED, node, message, hint)
        return None
    return low, high


def _number(file: YamlFile, text: Text | None, hint: str) -> float | None:
    if text is None:
        return None
    try:
        number = float(text.value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        file.diagnostics.error(Code.MALFORMED, text.span(), f"'{text}' is not a finite number", hint)
        return None
    return number


def _entry(file: YamlFile, name: Text, node: yaml.Node) -> SampleEntry:
    if not isinstance(node, yaml.MappingNode):
        return SampleEntry(name, read_sample_list(file, node))
    fields = file.mapping(node, f"'{name}'") or {}
    known = (_SAMPLES, _DOMAIN, _REFERENCE)
    for key in fields.keys() - set(known):
        hint = did_you_mean(key, known) or f"there are {', '.join(known)}"
        file.error(Code.UNKNOWN_KEY, fields[key][0], f"unknown key '{key}'", hint)
    return SampleEntry(
        name,
        read_sample_list(file, fields[_SAMPLES][1]) if _SAMPLES in fields else (),
        read_domain(file, fields[_DOMAIN][1]) if _DOMAIN in fields else None,
        file.scalar(fields[_REFERENCE][1], f"'{_REFERENCE}'", HINT) if _REFERENCE in fields else None,
    )


def read_sample_file(file: YamlFile) -> tuple[SampleEntry, ...]:
    """The entries of a samples.yaml."""
    entries: dict[str, SampleEntry] = {}
    for node in file.entries():
        for key, value in (file.mapping(node, "an entry", _HINT) or {}).values():
            entry = _entry(file, file.text(key), value)
            first = entries.setdefault(entry.name.value, entry)
            if first is not entry:
                file.diagnostics.error(
                    Code.DUPLICATE_ENTRY, entry.name.span(), f"duplicate samples of '{entry.name}'",
                    "write them in one list", ((first.name.span(), "the first ones are here"),),
                )  # fmt: skip
    return tuple(entries.values())


def with_samples(
    functions: Sequence[NativeFunction], entries: Sequence[SampleEntry], diagnostics: Diagnostics
) -> tuple[NativeFunction, ...]:
    """The operators with what a samples.yaml has for them."""
    known = {str(function.name): function for function in functions}
    joined: dict[str, NativeFunction] = {}
    for entry in entries:
        function = known.get(entry.name.value)
        if function is None:
            if entry.name.value not in diagnostics.unread:
                diagnostics.error(
                    Code.UNKNOWN_OPERATOR, entry.name.span(), f"no operator '{entry.name}' in native_functions.yaml",
                    did_you_mean(entry.name.value, known),
                )  # fmt: skip
        elif function.samples and entry.samples:
            diagnostics.error(
                Code.GIVEN_TWICE, entry.name.span(), f"'{entry.name}' has 'samples' in its entry, too",
                "write them in one of the two files", ((function.samples[0].span(), "they begin here"),),
            )  # fmt: skip
        elif both := _said_twice(function, entry):
            message = f"'{entry.name}' has '{both}' in its entry, too"
            note = (function.text.span(0, function.schema.name_end), "declared here")
            hint = "write it in one of the two files"
            diagnostics.error(Code.GIVEN_TWICE, entry.name.span(), message, hint, (note,))
        else:
            reference, domain = function.reference, function.domain if entry.domain is None else entry.domain
            if entry.reference is not None:
                reference = read_reference(entry.reference, function.schema, diagnostics)
            samples = entry.samples or function.samples
            joined[entry.name.value] = replace(function, samples=samples, domain=domain, reference=reference)
    return tuple(joined.get(str(function.name), function) for function in functions)


def _said_twice(function: NativeFunction, entry: SampleEntry) -> str:
    """A key that both files have for an operator; empty where none is."""
    said = {_DOMAIN: (function.domain, entry.domain), _REFERENCE: (function.reference, entry.reference)}
    return next((key for key, values in said.items() if None not in values), "")
