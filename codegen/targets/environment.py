"""Jinja as all targets use it."""

from __future__ import annotations

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(templates: Path, target: str) -> Environment:
    """A Jinja environment over one target's folder of templates."""
    made = Environment(
        loader=FileSystemLoader(templates / target),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters["quoted"] = quoted
    return made


def quoted(text: str) -> str:
    """A string literal of Python and C++."""
    return json.dumps(text)
