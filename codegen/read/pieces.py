"""Parts of a `Text` that keep their places."""

from __future__ import annotations

from codegen.source import Text


def part(text: Text, start: int, end: int) -> Text:
    """The characters `start` to `end` of `text`."""
    return Text(text.value[start:end], text.file, text.offsets[start : end + 1])


def stripped(text: Text) -> Text:
    """`text` without the white space around it."""
    value = text.value
    size = len(value.strip())
    if size == len(value):
        return text
    start = len(value) - len(value.lstrip()) if size else 0
    return part(text, start, start + size)


def comma_separated(text: Text) -> list[Text]:
    """The parts of `text` between its commas, stripped; where two commas follow each other, an empty text."""
    if "," not in text.value:
        return [stripped(text)]
    parts: list[Text] = []
    start = 0
    for word in text.value.split(","):
        end = start + len(word)
        parts.append(stripped(part(text, start, end)))
        start = end + 1
    return parts


def at_place_of(text: Text, value: str) -> Text:
    """Another text for which `text` stands, at its place."""
    last = text.offsets[max(len(text.value) - 1, 0)]
    return Text(value, text.file, (text.offsets[0],) * (len(value) - 1) + (last, last + 1))
