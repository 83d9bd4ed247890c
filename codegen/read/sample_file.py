"""A samples.yaml: the calls that operators are tested with, beside the native_functions.yaml that has the operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import yaml

from codegen.codes import Code
from codegen.read.model import NativeFunction
from codegen.read.samples import parse_sample
from codegen.read.yaml_text import YamlFile, describe
from codegen.source import Diagnostics, ParseError, Text
from codegen.words import did_you_mean

_DOMAIN = "domain"
_HINT = "write it as '- add.Tensor:' and below it a line for each call: '  - T(3, 4), T(4)'"


@dataclass(frozen=True, slots=True)
class SampleEntry:
    """The samples of one operator, whose whole name is `name`, or the range of those that it gets by itself."""

    name: Text
    samples: tuple[Text, ...]
    domain: tuple[float, float] | None = None


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


def _samples_or_domain(file: YamlFile, name: Text, node: yaml.Node) -> SampleEntry:
    if not isinstance(node, yaml.MappingNode):
        return SampleEntry(name, read_sample_list(file, node))
    fields = file.mapping(node, f"'{name}'") or {}
    for key in fields.keys() - {_DOMAIN}:
        hint = f"samples are a list, and their range is '{_DOMAIN}: [low, high]'"
        file.error(Code.UNKNOWN_KEY, fields[key][0], f"unknown key '{key}'", hint)
    return SampleEntry(name, (), read_domain(file, fields[_DOMAIN][1]) if _DOMAIN in fields else None)


def read_sample_file(file: YamlFile) -> tuple[SampleEntry, ...]:
    """The entries of a samples.yaml."""
    entries: dict[str, SampleEntry] = {}
    for node in file.entries():
        for key, value in (file.mapping(node, "an entry", _HINT) or {}).values():
            entry = _samples_or_domain(file, file.text(key), value)
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
    """The operators with the samples that a samples.yaml has for them, or with their range."""
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
        elif function.samples:
            diagnostics.error(
                Code.GIVEN_TWICE, entry.name.span(), f"'{entry.name}' has 'samples' in its entry, too",
                "write them in one of the two files", ((function.samples[0].span(), "they begin here"),),
            )  # fmt: skip
        elif entry.domain is not None and function.domain is not None:
            message = f"'{entry.name}' has '{_DOMAIN}' in its entry, too"
            note = (function.text.span(0, function.schema.name_end), "declared here")
            hint = "write it in one of the two files"
            diagnostics.error(Code.GIVEN_TWICE, entry.name.span(), message, hint, (note,))
        else:
            domain = function.domain if entry.domain is None else entry.domain
            joined[entry.name.value] = replace(function, samples=entry.samples, domain=domain)
    return tuple(joined.get(str(function.name), function) for function in functions)
