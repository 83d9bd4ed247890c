"""YAML with places: nodes whose every character can be traced back to the file.

PyYAML's composer gives nodes with marks; this module turns scalars into `Text`, mappings into dictionaries that refuse
duplicate keys, and a file into its top-level entries.  A syntax error does not end the reading: the file is cut at its
top-level dashes and each entry is read on its own, so that one broken entry hides no other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import yaml

from codegen.codes import Code
from codegen.source import Diagnostics, ParseError, SourceFile, Span, Text
from codegen.words import Hint

if TYPE_CHECKING:
    from yaml import SafeLoader as _BaseLoader
else:
    _BaseLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_DEPTH = 40

_BREAK = r"(?:\r\n|[\n\r\x85\u2028\u2029])"
_LINE = re.compile(rf"([^\n\r\x85\u2028\u2029]*)({_BREAK}|\Z)")
_FOLD = rf"[ \t]*{_BREAK}(?:[ \t]*{_BREAK})*[ \t]*"
_TOKENS = {
    "": re.compile(rf"{_FOLD}|."),
    "'": re.compile(rf"{_FOLD}|''|."),
    '"': re.compile(
        rf"{_FOLD}|\\{_BREAK}[ \t]*|\\x[0-9a-fA-F]{{2}}|\\u[0-9a-fA-F]{{4}}|\\U[0-9a-fA-F]{{8}}|\\.|.", re.DOTALL
    ),
}
_BREAKS = frozenset("\n\r\x85\u2028\u2029")
_ANY_BREAK = re.compile(_BREAK)
_ESCAPED_BREAK = re.compile(rf"\\{_BREAK}")
_PROPERTIES = re.compile(rf"(?:[&!][^\s]*(?:[ \t]+|[ \t]*(?:#.*)?{_BREAK})+)*")
ENTRY_START = re.compile(r"^-(?=\s)", re.MULTILINE)
_FUNC = re.compile(r"^(?:[- ] *func: *|  - (?=['\"]?[\w.]+\())['\"]?([\w.]+)", re.MULTILINE)
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\ufffd"
_NO_COLON = "could not find expected ':'"
_NO_ANCHOR = "found undefined alias"
_CLOSERS = ("]", "}", '"', "'")
_OPENED = {
    "while parsing a flow sequence": "the list",
    "while parsing a flow mapping": "the mapping",
    "while parsing a block collection": "the list",
    "while parsing a block mapping": "the mapping",
}
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))


Fields = dict[str, tuple[yaml.ScalarNode, yaml.Node]]
"""A mapping: the text of each key, with the key's node and the value's."""


class _TooDeep(Exception):
    """Nesting that no valid file has.  (PyYAML's C loader recurses, and overflows the C stack on hostile input.)"""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


class _Loader(_BaseLoader):
    """Composes nodes without resolving plain scalars to types: what a word means depends on the key it stands under."""

    depth = 0

    def descend_resolver(self, current_node: yaml.Node | None, current_index: object) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _TooDeep(current_node.start_mark.index if current_node is not None else 0)

    def ascend_resolver(self) -> None:
        self.depth -= 1

    def resolve(self, kind: object, value: object, implicit: object) -> str:
        return ""


def entry_around(text: str, offset: int) -> range:
    """The entry of a top-level list in which a character stands: from its dash to the next one's.

    Before the first entry it is what stands there.
    """
    before = text.rfind("\n-", 0, offset + 1)
    while before != -1 and ENTRY_START.match(text, before + 1) is None:
        before = text.rfind("\n-", 0, before)
    after = ENTRY_START.search(text, max(offset, before + 1) + 1)
    return range(before + 1, len(text) if after is None else after.start())


def describe(node: yaml.Node) -> str:
    """What a node is, for messages."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "nothing" if is_null(node) else "text"


def is_null(node: yaml.Node) -> bool:
    """Nothing after the colon, or one of YAML's words for nothing."""
    return isinstance(node, yaml.ScalarNode) and not node.style and node.value in _NULLS


class YamlFile:
    """One file being read: its entries, mappings and texts, and its errors into `diagnostics`.

    `part` is the entry that alone is read, as `entry_around` gives it; None: all of them.
    """

    def __init__(self, file: SourceFile, diagnostics: Diagnostics, part: range | None = None) -> None:
        self.file = file
        self.diagnostics = diagnostics
        self.part = part
        self._refused = False

    def error(self, code: Code, node: yaml.Node, message: str, hint: Hint = None, *notes: tuple[Span, str]) -> None:
        self.diagnostics.error(code, self.span(node), message, hint, notes)

    def parse_error(self, code: Code, text: Text, error: ParseError) -> None:
        """Record that `text` does not follow its grammar, unless a character that was reported already is the cause."""
        if not (self._refused and _REPLACEMENT in text.value):
            self.diagnostics.parse_error(code, text, error)

    def span(self, node: yaml.Node) -> Span:
        """The place of a node, cut at the end of its first line where it has several."""
        start, end = node.start_mark.index, node.end_mark.index
        stop = self.file.text.find("\n", start, end)
        return Span(self.file, start, end if stop == -1 else stop)

    def text(self, node: yaml.ScalarNode) -> Text:
        """The value of a scalar, with the place of every character."""
        value: str = node.value
        start: int = node.start_mark.index
        end: int = node.end_mark.index
        source = self.file.text
        if not node.style:
            if end - start == len(value) and source.startswith(value, start):
                return Text(value, self.file, range(start, end + 1))
        elif end - start - 2 == len(value) and source[start] == node.style and source.startswith(value, start + 1):
            return Text(value, self.file, range(start + 1, end))
        return Text(value, self.file, character_offsets(value, source, start, end, node.style or ""))

    def scalar(self, node: yaml.Node, what: str, hint: str | None = None) -> Text | None:
        """The text of a scalar that must not be empty; None after an error."""
        if not isinstance(node, yaml.ScalarNode):
            self.error(Code.WRONG_SHAPE, node, f"{what} must be text, not {describe(node)}", hint)
        elif is_null(node):
            self.error(Code.WRONG_SHAPE, node, f"{what} is empty", hint)
        elif node.tag:
            self._refuse_tag(node)
        else:
            return self.text(node)
        return None

    def sequence(self, node: yaml.Node, what: str, hint: str | None = None) -> list[yaml.Node] | None:
        """The elements of a list; None after an error."""
        if not isinstance(node, yaml.SequenceNode):
            self.error(Code.WRONG_SHAPE, node, f"{what} must be a list, not {describe(node)}", hint)
        elif node.tag:
            self._refuse_tag(node)
        else:
            elements: list[yaml.Node] = node.value
            return elements
        return None

    def mapping(self, node: yaml.Node, what: str, hint: str | None = None) -> Fields | None:
        """The keys of a mapping; None where it is none.  Duplicate keys are errors, the first one stays."""
        if not isinstance(node, yaml.MappingNode):
            self.error(Code.WRONG_SHAPE, node, f"{what} must be a mapping, not {describe(node)}", hint)
            return None
        if node.tag:
            self._refuse_tag(node)
            return None
        fields: Fields = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.error(Code.WRONG_SHAPE, key, f"a key must be text, not {describe(key)}")
            elif key.value == "<<" and not key.style:
                self.error(Code.YAML_SYNTAX, key, "YAML merge keys are not supported", "write the keys out")
            elif key.value in fields:
                first = self.span(fields[key.value][0])
                self.error(
                    Code.GIVEN_TWICE, key, f"duplicate key {key.value!r}", None, (first, "it is first given here")
                )
            else:
                fields[key.value] = (key, value)
        return fields

    def _refuse_tag(self, node: yaml.Node) -> None:
        self.error(
            Code.YAML_SYNTAX,
            node,
            "YAML tags have no meaning here",
            "remove the word that begins with '!', or quote the text",
        )

    def entries(self) -> list[yaml.Node]:
        """The elements of the file's top-level list."""
        nodes: list[yaml.Node] = []
        before = len(self.diagnostics.items)
        is_list = False
        for root in self._roots():
            if isinstance(root, yaml.SequenceNode):
                is_list = True
                nodes.extend(root.value)
            elif root is not None and not is_null(root):
                is_list = True
                self.error(
                    Code.WRONG_SHAPE,
                    root,
                    f"the file must be a list of entries, not {describe(root)}",
                    "begin each entry with '- '",
                )
        if not is_list and len(self.diagnostics.items) == before:
            self.diagnostics.error(
                Code.WRONG_SHAPE, Span(self.file, 0, 0), "the file has no entries", "an empty list is written '[]'"
            )
        return nodes

    def only_root(self) -> yaml.Node | None:
        """The one value that the file holds; None with a diagnostic where there is none."""
        before = len(self.diagnostics.items)
        roots = [root for root in self._roots() if root is not None and not is_null(root)]
        if not roots and len(self.diagnostics.items) == before:
            self.diagnostics.error(Code.WRONG_SHAPE, Span(self.file, 0, 0), "the file is empty")
        return roots[0] if len(self.diagnostics.items) == before else None

    def _roots(self) -> list[yaml.Node | None]:
        if self.part is not None:
            return self._roots_in([(self.part.start, self.part.stop)], self._readable(0), 0)
        # A byte order mark is no part of the YAML.
        base = 1 if self.file.text.startswith("\ufeff") else 0
        body = self._readable(base)
        try:
            return [_moved(compose(body), base)]
        except (yaml.MarkedYAMLError, _TooDeep) as error:
            whole = error
        return self._roots_entry_by_entry(body, base, whole)

    def _roots_entry_by_entry(
        self, body: str, base: int, whole: yaml.MarkedYAMLError | _TooDeep
    ) -> list[yaml.Node | None]:
        before = len(self.diagnostics.items)
        starts = [match.start() for match in ENTRY_START.finditer(body)]
        roots = self._roots_in(itertools.pairwise([0, *starts[1:], len(body)]), body, base)
        if len(self.diagnostics.items) == before:
            self._syntax_error(whole, base, len(self.file.text))
        return roots

    def _roots_in(self, bounds: Iterable[tuple[int, int]], body: str, base: int) -> list[yaml.Node | None]:
        """What stands in some parts of the text that begins at `base`, each of which is read alone."""
        roots: list[yaml.Node | None] = []
        for start, stop in bounds:
            try:
                roots.append(_moved(compose(body[start:stop]), start + base))
            except (yaml.MarkedYAMLError, _TooDeep) as error:
                # The anchors of other entries are out of sight here.  Where that is all that is wrong, the error of
                # the whole file is the one to show.
                self.diagnostics.unread.update(_FUNC.findall(body, start, stop))
                if not (isinstance(error, yaml.MarkedYAMLError) and (error.problem or "").startswith(_NO_ANCHOR)):
                    self._syntax_error(error, start + base, stop + base)
        return roots

    def _readable(self, base: int) -> str:
        """The text from `base` on, with a diagnostic for each character that YAML refuses, which becomes U+FFFD."""
        body = self.file.text[base:]
        if _UNREADABLE.search(body) is None:
            return body
        self._refused = True
        for match in _UNREADABLE.finditer(body):
            place = match.start() + base
            self.diagnostics.error(
                Code.UNREADABLE,
                Span(self.file, place, place + 1),
                f"YAML does not allow the character U+{ord(match[0]):04X}",
                "remove it",
            )
        return _UNREADABLE.sub(_REPLACEMENT, body)

    def _syntax_error(self, error: yaml.MarkedYAMLError | _TooDeep, base: int, stop: int) -> None:
        """Report what the YAML parser found in the part of the file from `base` to `stop`."""
        deep = _depth_exceeded(error)
        if deep is not None:
            place = deep + base
            self.diagnostics.error(
                Code.YAML_SYNTAX, Span(self.file, place, place + 1), f"nested more than {MAX_DEPTH} levels deep"
            )
            return
        assert isinstance(error, yaml.MarkedYAMLError)
        context = error.context_mark.index + base if error.context_mark is not None else None
        place = error.problem_mark.index + base if error.problem_mark is not None else base
        message, hint = _explain(error, self.file.text, place)
        notes: tuple[tuple[Span, str], ...] = ()
        if context is not None:
            opened = _OPENED.get(error.context or "")
            if place >= stop or error.problem == _NO_COLON:
                # Where a part ends, or what follows, says nothing; where the open thing begins does.
                place = context
            elif opened is not None and context != place:
                notes = ((Span(self.file, context, context + 1), f"{opened} begins here"),)
        place = min(place, len(self.file.text))
        self.diagnostics.error(
            Code.YAML_SYNTAX, Span(self.file, place, place + 1), f"invalid YAML: {message}", hint, notes
        )


def _depth_exceeded(error: yaml.MarkedYAMLError | _TooDeep) -> int | None:
    """Where a text is nested too deeply; None for another error. PyYAML, which reads ahead, has a limit of its own."""
    if isinstance(error, _TooDeep):
        return error.index
    if "nesting depth" not in (error.problem or ""):
        return None
    return error.problem_mark.index if error.problem_mark is not None else 0


def compose(text: str) -> yaml.Node | None:
    """The tree of a text, without its scalars being resolved to types."""
    loader = _Loader(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
    finally:
        loader.dispose()
    return node


def _moved(root: yaml.Node | None, distance: int) -> yaml.Node | None:
    """The tree with all its marks moved by `distance`, after a part of a file was read alone."""
    if root is None or not distance:
        return root
    seen: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        node.start_mark, node.end_mark = (
            yaml.Mark("", mark.index + distance, 0, 0, None, 0) for mark in (node.start_mark, node.end_mark)
        )
        if isinstance(node, yaml.SequenceNode):
            pending.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            pending.extend(itertools.chain.from_iterable(node.value))
    return root


def _explain(error: yaml.MarkedYAMLError, source: str, place: int) -> tuple[str, str | None]:
    """The message and hint for what the YAML parser found at `place`."""
    problem = error.problem or error.context or "syntax error"
    context = error.context or ""
    character = source[place : place + 1]
    line_before = source[source.rfind("\n", 0, place) + 1 : place].rstrip()
    if character == "\t" or "tab character" in problem:
        return "a tab cannot be used for indentation", "indent with spaces"
    if "quoted scalar" in context:
        return "the quoted text is never closed", "add the closing quote; inside single quotes a quote is written twice"
    if "flow sequence" in context:
        return (
            "the list is never closed, or an element is not followed by ',' or ']'",
            "add the closing ']' or quote the text",
        )
    if "flow mapping" in context:
        return (
            "the mapping is never closed, or an element is not followed by ',' or '}'",
            "add the closing '}' or quote the text",
        )
    if character.strip() and line_before.endswith(_CLOSERS):
        return f"the value ended with the {line_before[-1]} before this", "quote the whole text"
    if "mapping values are not allowed" in problem:
        return "a ':' is not expected here", "quote a text that contains ': '; check the indentation"
    if problem == _NO_COLON:
        return "a key without ':'", "continue a text on lines indented deeper than its key"
    if "cannot start any token" in problem:
        return f"a text cannot begin with {character!r}", "quote the text"
    if problem.startswith(_NO_ANCHOR):
        return "an alias '*name' without an anchor '&name'", "quote a text that begins with '*'"
    if "another document" in problem:
        return "a second document begins here", "remove the '---' line"
    if "expected key" in problem or "block end" in problem or "'-' indicator" in problem:
        return "the indentation fits nothing above", "indent the keys of an entry alike"
    return problem, None


def character_offsets(value: str, source: str, start: int, end: int, style: str) -> tuple[int, ...]:
    """Where each character of a scalar's value stands in `source[start:end]`, and one more entry for its end."""
    properties = _PROPERTIES.match(source, start, end)
    if properties is not None:
        start = properties.end()
    if style and style in "|>":
        offsets = _block_offsets(value, source, start, end)
    else:
        offsets = _flow_offsets(source, start, end, style)
    # A line break of an unusual kind may fold differently; a place that is one off is better than none.
    size = len(value)
    last = offsets[-1] + 1 if offsets else start
    if len(offsets) < size:
        offsets.extend([max(last - 1, start)] * (size - len(offsets)))
    offsets = offsets[:size]
    offsets.append(offsets[-1] + 1 if offsets else start)
    return tuple(offsets)


def _flow_offsets(source: str, start: int, end: int, style: str) -> list[int]:
    """Plain and quoted scalars: one offset per character, escape or folded line break."""
    if style:
        start, end = start + 1, end - 1
    offsets: list[int] = []
    for match in _TOKENS[style].finditer(source, start, end):
        token = match[0]
        place = match.start()
        if len(token) == 1 and token not in _BREAKS:
            offsets.append(place)
        elif _ESCAPED_BREAK.match(token):
            continue
        elif token[0] == "\\" or token == "''":
            offsets.append(place)
        else:
            breaks = [place + gap.start() for gap in _ANY_BREAK.finditer(token)]
            offsets.extend(breaks[1:] or breaks)
    return offsets


def _block_offsets(value: str, source: str, start: int, end: int) -> list[int]:
    """Literal and folded scalars, line by line.

    How many breaks a gap between two lines folds into is read off the value: there the next line begins with
    something else than a line break.
    """
    header = _LINE.match(source, start, end)
    position = header.end() if header is not None else end
    lines: list[tuple[int, str, int]] = []  # start, text, place of its line break
    while position < end and (match := _LINE.match(source, position, end)) is not None:
        lines.append((position, match[1], match.end(1)))
        position = match.end()
    first = next((text for _, text, _ in lines if text.strip(" ")), "")
    indent = _leading_spaces(first) - _leading_spaces(value.lstrip("\n"))
    offsets: list[int] = []
    breaks: list[int] = []
    for place, text, line_end in lines:
        if len(text) > indent:
            offsets.extend(_gap(value, len(offsets), breaks))
            offsets.extend(range(place + indent, line_end))
            breaks = []
        breaks.append(line_end)
    offsets.extend(breaks[: len(value) - len(offsets)])
    return offsets


def _gap(value: str, position: int, breaks: list[int]) -> list[int]:
    count = 0
    while value.startswith("\n", position + count):
        count += 1
    if count == 0 and breaks and value.startswith(" ", position):
        count = 1
    return breaks[len(breaks) - min(count, len(breaks)) :]


def _leading_spaces(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
