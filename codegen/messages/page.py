"""A page about one code."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from codegen.codes import Code

NATIVE_FUNCTIONS, DERIVATIVES, KERNELS, HELPERS = (
    "native_functions.yaml", "derivatives.yaml", "kernels.py", "helpers.py",
)  # fmt: skip
PROJECT = "pyproject.toml"

PACKAGE: Mapping[str, str] = {
    NATIVE_FUNCTIONS: """\
- func: twice(Tensor self) -> Tensor
  dispatch:
    CPU: twice
  samples:
  - T(3, 4)
""",
    DERIVATIVES: """\
- name: twice(Tensor self) -> Tensor
  self: grad * 2
""",
    KERNELS: """\
def twice(self):
    return self * 2
""",
    PROJECT: """\
[tool.gradwright]
schema_version = 1
package = "mylib"
""",
}
"""The package of the examples: what a file of it holds where a page says nothing else."""


# A terminal is not sent the control characters of an example, but the signs that Unicode has for them.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) != "\n"}


@dataclass(frozen=True, slots=True)
class Page:
    """What a code means, and how to mend it.

    `wrong` and `right` are the text of `file` in a package whose other files are those of `beside`, else of PACKAGE.
    """

    code: Code
    title: str
    meaning: str
    file: str
    wrong: str
    right: str
    beside: Mapping[str, str] = field(default_factory=dict)

    def files(self, text: str) -> Mapping[str, str]:
        """All files of an example, of which `text` is `wrong` or `right`."""
        return {**PACKAGE, **self.beside, self.file: text}

    def lines(self) -> Iterator[str]:
        """The page as Markdown, without its title."""
        yield from textwrap.wrap(self.meaning, 120, break_on_hyphens=False)
        for name, text in self.beside.items():
            yield from ("", f"With this in `{name}`:", "", *_block(name, text))
        yield from ("", f"This gives it (`{self.file}`):", "", *_block(self.file, self.wrong))
        yield from ("", "This does not:", "", *_block(self.file, self.right))


def _block(name: str, text: str) -> Iterator[str]:
    language = {"yaml": "yaml", "py": "python", "toml": "toml"}[name.rpartition(".")[2]]
    yield from (f"```{language}", *text.translate(_PICTURES).split("\n")[:-1], "```")
