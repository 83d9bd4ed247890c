"""What generated C++ needs of Python, by names that it gives them."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field

from codegen.plan.names import module_alias
from codegen.targets.cpp.names import cpp


@dataclass
class Needs:
    """What one generated file needs of Python: callables by their place, and constants by their text."""

    names: dict[str, tuple[str, str]] = field(default_factory=dict)  # C++ name: module, attribute
    constants: dict[str, str] = field(default_factory=dict)  # C++ name: Python text

    def name(self, module: str, attribute: str) -> str:
        """A callable."""
        if module.startswith("generated."):
            spelled = cpp(attribute.replace(".", "_"))
        else:
            known = {"runtime.graph.recording": "", "math": "math_"}
            prefix = known.get(module, f"{module_alias(module)}_")
            spelled = f"{prefix}{attribute}"
        self.names[spelled] = (module, attribute)
        return f"py::{spelled}"

    def constant(self, text: str) -> str:
        """The value of a Python expression."""
        if text in ("None", "True", "False"):
            return f"Py_{text}"
        spelled = f"constant_{_word(text)}"
        self.constants[spelled] = text
        return f"py::{spelled}"

    def update(self, other: Needs) -> None:
        """Take over what another one needs."""
        self.names |= other.names
        self.constants |= other.constants


def _word(text: str) -> str:
    """A part of an identifier for a Python expression; no two expressions have the same."""
    number = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?", text)
    if number is not None:
        sign, whole, rest = number.groups()
        return f"{'minus_' if sign else ''}{whole}{f'_point_{rest}' if rest else ''}"
    string = re.fullmatch(r'"([A-Za-z]\w*(?<!_))"', text)
    if string is not None:
        return f"text_{string[1]}"
    return f"{re.sub(r'[^0-9A-Za-z]+', '_', text).strip('_')}_{zlib.crc32(text.encode()):08x}"
