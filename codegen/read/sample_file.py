"""A samples.yaml: the calls that operators are tested with, beside the native_functions.yaml that has the operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import yaml

from codegen.codes import Code
from codegen.read.model import NativeFunction
from codegen.read.samples import parse_sample
from codegen.read.yaml_text import YamlFile, describe
from codegen.source import Diagnostics, ParseError, Text
from codegen.words import did_you_mean

_HINT = "write it as '- add.Tensor:' and below it a line for each call: '  - T(3, 4), T(4)'"


@dataclass(frozen=True, slots=True)
class SampleEntry:
    """The samples of one operator, whose whole name is `name`."""

    name: Text
    samples: tuple[Text, ...]


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


def read_sample_file(file: YamlFile) -> tuple[SampleEntry, ...]:
    """The entries of a samples.yaml."""
    entries: dict[str, SampleEntry] = {}
    for node in file.entries():
        for key, value in (file.mapping(node, "an entry", _HINT) or {}).values():
            entry = SampleEntry(file.text(key), read_sample_list(file, value))
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
    """The operators with the samples that a samples.yaml has for them."""
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
        else:
            joined[entry.name.value] = replace(function, samples=entry.samples)
    return tuple(joined.get(str(function.name), function) for function in functions)
