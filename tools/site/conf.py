"""What sphinx is told: Markdown by myst-parser, the theme furo, nothing that a browser would load from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx

from codegen.version import VERSION

project = "Gradwright"
author = "The Gradwright authors"
version = release = VERSION
copyright = "The Gradwright authors, BSD-3-Clause"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"

myst_enable_extensions = ["attrs_inline", "deflist"]
myst_heading_anchors = 4  # links to parts of a page are written as a code host has them
suppress_warnings = [
    "misc.highlighting_failure",  # blocks show mistakes, too
    "myst.header",  # a page that a program writes may begin anywhere
]

html_theme = "furo"
html_title = "Gradwright"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
html_domain_indices = False
html_permalinks_icon = "#"
pygments_style = "tango"
pygments_dark_style = "monokai"


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _share_navigation, priority=100)


def _share_navigation(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Draw the navigation of operators once: their pages are not in it, and are too many to draw it for each."""
    folder = page.rpartition("/")[0]
    if folder == "operators":
        context["toctree"] = _Shared(context["toctree"])


class _Shared:
    """The navigation as the first of these pages has it, by the options that the theme asks for it with."""

    _drawn: dict[str, str] = {}

    def __init__(self, draw: Callable[..., str]) -> None:
        self._draw = draw

    def __call__(self, **options: Any) -> str:
        key = repr(sorted(options.items()))
        if key not in self._drawn:
            self._drawn[key] = self._draw(**options)
        return self._drawn[key]
