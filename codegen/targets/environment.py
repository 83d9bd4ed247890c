"""Jinja as all targets use it."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(templates: Path, target: str) -> Environment:
    """A Jinja environment over one target's folder of templates."""
    return Environment(
        loader=FileSystemLoader(templates / target),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
