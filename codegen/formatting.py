"""The one style of the two YAML files: how an entry is laid out, with all comments kept.

A formatter of this kind could load the file with a library that keeps comments, and dump it. That decides about quotes
and line breaks inside of formulas, which are their author's. So the text of each scalar is taken from the file as it
is, and only what lies between scalars, and the indentation of a text of several lines as a whole, is laid out anew:

- entries begin in the first column, keys are indented by two, the keys of a table by four, items by two;
- the keys of an operator have one order; `name` comes before the formulas, whose order stays;
- tables are written in lines, and so are lists of calls; short lists stay in brackets, as in `[0.5, 2]`, and short
  tables in braces, as in `{CPU: add}`;
- there is one blank line between entries and before a comment that stands between them, and none inside an entry.

What is written anew is read again: an entry that would not read the same, or would lose a comment, stays as it is.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import yaml

from codegen.read.keys import KEYS
from codegen.read.yaml_text import compose, is_null

# The order of the keys of an operator, a former name where the new one stands; others follow in theirs.
ORDER = tuple(name for key in KEYS for name in (key.name, key.former) if name)
_DERIVATIVES_ORDER = ("name", "output_differentiability")
# Lists that are never written in brackets.
_IN_LINES = frozenset(name for key in KEYS if key.in_lines for name in (key.name, key.former))
_STEP = 2
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#[^\n]*", re.MULTILINE)
_DASH = re.compile(r"^( *)-(?=[ \n])", re.MULTILINE)


class _Unusual(Exception):
    """Something that the style says nothing about: the entry stays as it is."""


def formatted(text: str) -> str:
    """The text of a file of entries in the one style; as it is where it is no list of entries.

    Args:
        text: of the file, which is valid YAML.
    """
    text = text.replace("\r\n", "\n")
    root = compose(text)
    if not isinstance(root, yaml.SequenceNode) or _in_brackets(root) or not root.value:
        return text
    made = _file(text, root)
    again = compose(made)
    assert again is not None
    same = _reading(root) == _reading(again) and _comments(text, root) == _comments(made, again)
    return made if same else text


def _file(text: str, root: yaml.SequenceNode) -> str:
    starts: list[int] = []
    for entry in root.value:
        starts.append(_dash(text, starts[-1] if starts else 0, entry.start_mark.index))
    lines = _between(text[: starts[0]])
    for start, end in itertools.pairwise((*starts, len(text))):
        entry, rest = _entry(text[start:end])
        lines += [*entry, "", *_between(rest)]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def _dash(text: str, before: int, start: int) -> int:
    """Where the line begins that has the dash of the entry at `start`; it does not begin before `before`."""
    return text.rfind("\n", 0, max(match.end() for match in _DASH.finditer(text, before, start))) + 1


def _between(text: str) -> list[str]:
    """What stands between entries: comments, and at most one blank line in a row."""
    lines: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped or (lines and lines[-1]):
            lines.append(stripped)
    return lines


def _entry(text: str) -> tuple[list[str], str]:
    """The lines of an entry, and what follows it: comments that belong to no key of it."""
    own, rest = _cut(text)
    own = own.rstrip("\n") + "\n"  # where a text of several lines ends is part of it
    try:
        lines = _laid_out(own)
        made = "\n".join((*lines, ""))
        before, after = compose(own), compose(made)
        assert before is not None
        assert after is not None
        if _reading(before) == _reading(after) and _comments(own, before) == _comments(made, after):
            return lines, rest
    except (_Unusual, yaml.YAMLError):
        pass
    return own.rstrip("\n").split("\n"), rest


def _cut(text: str) -> tuple[str, str]:
    """An entry and what follows it, from the first blank line or outdented comment after its last scalar on."""
    column = len(text) - len(text.lstrip(" "))
    root = compose(text)
    assert root is not None
    end = max(node.end_mark.index for node in _leaves(root))
    end = text.find("\n", max(end - 1, 0))
    while end != -1:
        stop = text.find("\n", end + 1)
        line = text[end + 1 : stop if stop != -1 else len(text)]
        outdented = len(line) - len(line.lstrip(" ")) <= column
        if not line.strip() or (outdented and line.lstrip().startswith("#")):
            break
        end = stop
    return (text, "") if end == -1 else (text[:end], text[end + 1 :])


@dataclass
class _Item:
    """A key with its value, or an item of a list: its lines, without those of what is nested in it."""

    start: int
    indent: int
    lines: list[str]
    inner: list[_Item] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def all(self) -> Iterator[_Item]:
        yield self
        for item in self.inner:
            yield from item.all()

    def text(self) -> Iterator[str]:
        blank = " " * self.indent
        yield from (blank + comment for comment in self.comments)
        yield from (blank + line if line else "" for line in self.lines)
        for item in self.inner:
            yield from item.text()


def _laid_out(text: str) -> list[str]:
    root = compose(text)
    if not isinstance(root, yaml.SequenceNode) or len(root.value) != 1:
        raise _Unusual
    mapping = root.value[0]
    if not isinstance(mapping, yaml.MappingNode) or _in_brackets(mapping):
        raise _Unusual
    leaves = list(_leaves(root))
    if any(one.end_mark.index > other.start_mark.index for one, other in itertools.pairwise(leaves)):
        raise _Unusual  # an alias
    items = [_key(text, key, value, _STEP) for key, value in mapping.value]
    last = _with_comments(text, root, items)
    names = {item.start: key.value for item, (key, _) in zip(items, mapping.value, strict=True)}
    order = ORDER if "func" in names.values() else _DERIVATIVES_ORDER
    items.sort(key=lambda item: order.index(names[item.start]) if names[item.start] in order else len(order))
    above, items[0].comments = items[0].comments, []
    lines = [line for item in items for line in item.text()]
    return [*above, "- " + lines[0][_STEP:], *lines[1:], *(" " * _STEP + comment for comment in last)]


def _key(text: str, key: yaml.Node, value: yaml.Node, indent: int) -> _Item:
    item = _Item(key.start_mark.index, indent, [f"{_source(text, key)}:"])
    if isinstance(value, yaml.ScalarNode):
        if not is_null(value) or value.start_mark.index != value.end_mark.index:
            below = "\n" in text[key.end_mark.index : value.start_mark.index]
            _set_scalar(item, _source(text, value), value, below)
    elif isinstance(value, yaml.MappingNode):
        if not value.value:
            item.lines[0] += " {}"
        elif _is_short(value):
            pairs = (f"{_source(text, inner)}: {_source(text, below)}" for inner, below in value.value)
            item.lines[0] += f" {{{', '.join(pairs)}}}"
            return item
        item.inner = [_key(text, inner, below, indent + _STEP) for inner, below in value.value]
    elif not value.value or (_in_brackets(value) and key.value not in _IN_LINES):
        if any(not isinstance(element, yaml.ScalarNode) for element in value.value):
            raise _Unusual
        item.lines[0] += f" [{', '.join(_source(text, element) for element in value.value)}]"
    else:
        item.inner = [_element(text, element, indent) for element in value.value]
    return item


def _in_brackets(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _is_short(node: yaml.MappingNode) -> bool:
    """Whether a table in braces is of words and stands in one line."""
    parts = [part for pair in node.value for part in pair]
    in_line = node.start_mark.line == node.end_mark.line
    return _in_brackets(node) and in_line and all(isinstance(p, yaml.ScalarNode) and not is_null(p) for p in parts)


def _element(text: str, node: yaml.Node, indent: int) -> _Item:
    if not isinstance(node, yaml.ScalarNode):
        raise _Unusual
    item = _Item(node.start_mark.index, indent, ["-"])
    _set_scalar(item, _source(text, node), node, below=False)
    return item


def _set_scalar(item: _Item, source: str, node: yaml.ScalarNode, below: bool) -> None:
    first, *others = source.rstrip(" \n").split("\n")
    blank = " " * _STEP
    if node.style in ("|", ">") and re.search(r"[\d+]", first.partition("#")[0]):
        raise _Unusual  # its indentation is given in numbers, or the blank lines after it count
    margin = min((len(line) - len(line.lstrip(" ")) for line in others if line.strip()), default=0)
    continued = [blank + line[margin:].rstrip(" ") if line.strip() else "" for line in others]
    if below:
        item.lines += [blank + first, *continued]
    else:
        item.lines[0] += f" {first}"
        item.lines += continued


def _source(text: str, node: yaml.Node) -> str:
    return text[node.start_mark.index : node.end_mark.index]


def _with_comments(text: str, root: yaml.Node, items: Sequence[_Item]) -> list[str]:
    """Give each comment to the item that it stands before or beside; those after the last one are returned."""
    flat = [item for each in items for item in each.all()]
    brackets = [(node.start_mark.index, node.end_mark.index) for node in _collections(root) if _in_brackets(node)]
    last: list[str] = []
    for place, comment in _comments_with_places(text, root):
        if any(start <= place < end for start, end in brackets):
            raise _Unusual
        alone = not text[text.rfind("\n", 0, place) + 1 : place].strip()
        if alone:
            following = next((item for item in flat if item.start > place), None)
            (last if following is None else following.comments).append(comment)
            continue
        before = [item for item in flat if item.start < place]
        if not before or before[-1].lines[-1].endswith(comment):
            raise _Unusual
        before[-1].lines[-1] += f"  {comment}"
    return last


def _comments_with_places(text: str, root: yaml.Node) -> Iterator[tuple[int, str]]:
    scalars = [(node.start_mark.index, node.end_mark.index) for node in _leaves(root)]
    position = 0
    for match in _COMMENT.finditer(text):
        while position < len(scalars) and scalars[position][1] <= match.start():
            position += 1
        if position == len(scalars) or not scalars[position][0] <= match.start():
            yield match.start(), match[0].rstrip()


def _comments(text: str, root: yaml.Node) -> Counter[str]:
    return Counter(comment for _, comment in _comments_with_places(text, root))


def _leaves(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    else:
        for child in _children(node):
            yield from _leaves(child)


def _collections(node: yaml.Node) -> Iterator[yaml.CollectionNode]:
    if isinstance(node, yaml.CollectionNode):
        yield node
        for child in _children(node):
            yield from _collections(child)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    for child in node.value:
        if isinstance(child, tuple):
            yield from child
        else:
            yield child


def _reading(node: yaml.Node) -> object:
    """What a file says, whatever the order of the keys of an entry's table is."""
    if isinstance(node, yaml.ScalarNode):
        return node.tag, node.value, is_null(node), bool(node.style)
    if isinstance(node, yaml.SequenceNode):
        return [_reading(child) for child in node.value]
    pairs = [(repr(_reading(key)), _reading(value)) for key, value in node.value]
    return node.tag, sorted(pairs, key=lambda pair: pair[0])
