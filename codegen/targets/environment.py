"""Jinja as all targets use it."""

from __future__ import annotations

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(templates: Path, target: str, escaped: bool = False) -> Environment:
    """A Jinja environment over one folder of templates; `escaped` for HTML."""
    made = Environment(
        loader=FileSystemLoader(templates / target),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=escaped,
    )
    made.filters["quoted"] = quoted
    made.filters["docstring"] = docstring
    return made


def docstring(text: str) -> str:
    """A docstring of Python."""
    simple = "\\" not in text and '"""' not in text and not text.endswith('"')
    return f'"""{text}"""' if simple else quoted(text)


def quoted(text: str) -> str:
    """A string literal of Python and C++."""
    return json.dumps(text)
