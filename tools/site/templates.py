"""The templates of the site's own pages."""

from __future__ import annotations

import html
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

_FOLDER = Path(__file__).parent / "templates"
_CODE = re.compile(r"`([^`]+)`")


def template(name: str) -> Template:
    """A template of Markdown, in which values are put as they are, but for the filters `escaped` and `inline`."""
    return _ENVIRONMENT.get_template(name)


def _inline(text: str) -> str:
    """A sentence of Markdown with code in backticks, as HTML."""
    return _CODE.sub(r"<code>\1</code>", html.escape(text, quote=False))


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(_FOLDER),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_ENVIRONMENT.filters["escaped"] = lambda text: html.escape(str(text), quote=False)
_ENVIRONMENT.filters["inline"] = _inline
