"""Generated C++ while it is written: the parts of a file in their order, and the numbers of its lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from jinja2 import Environment

from codegen.targets.cpp.entries import EntryView
from codegen.targets.cpp.nodes import NodeView
from codegen.targets.environment import quoted


class Writer:
    """Joins what the templates print.

    Args:
        templates: those of this target.
        file: the path of the file; None for a text that is only shown, without marks for a compiler.
    """

    def __init__(self, templates: Environment, file: str | None = None) -> None:
        self.file = file
        self._templates = templates
        self._parts: Any = templates.get_template("parts.cpp.j2").module  # its macros
        self._texts: list[str] = []
        self._line = 1  # the number of the next one

    def __str__(self) -> str:
        return "".join(self._texts)

    def add(self, text: str) -> None:
        """Whole lines."""
        self._texts.append(text)
        self._line += text.count("\n")

    def after_blank(self) -> Self:
        """An empty line, but not at the start."""
        if self._texts:
            self.add("\n")
        return self

    def template(self, name: str, values: Mapping[str, object]) -> None:
        """What a template prints of the values."""
        self.add(self._templates.get_template(name).render(values))

    def node(self, node: NodeView) -> None:
        """The struct of a Node and its functions."""
        self.add(self._parts.node_start(node, self.file is not None))
        for index, line in enumerate(node.apply):
            if self.file is not None and index in node.leads_back:
                self.add(f"#line {self._line + 1} {quoted(self.file)}\n")
            self.add(f"{line}\n")
        self.add(self._parts.node_end(node))

    def entry(self, entry: EntryView) -> None:
        """The function of an entry."""
        self.add(self._parts.entry_function(entry, self.file is not None))
