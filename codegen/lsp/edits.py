"""Changes of files that an editor is to make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codegen.source import Span


@dataclass(frozen=True)
class Edit:
    """What a file is to say at a place, as it is by now, instead of what it says."""

    path: Path
    span: Span
    text: str
