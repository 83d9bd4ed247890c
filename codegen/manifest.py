"""The note that generated code carries about the YAML it was made from.

Imported by the runtime at start, so it imports next to nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

NAME = "manifest.json"
# Raised when emission changes in a way that makes older output unusable.
FORMAT = 1


def input_hash(paths: Iterable[Path]) -> str:
    """A hash over the contents of the input files, in order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()


def manifest_text(paths: Iterable[Path]) -> str:
    """The text of the manifest for these inputs."""
    return json.dumps({"format": FORMAT, "inputs": input_hash(paths)}, indent=1, sort_keys=True) + "\n"


def is_current(output: Path, inputs: Iterable[Path]) -> bool:
    """Whether the output folder was made from these inputs by this version."""
    try:
        return (output / NAME).read_text(encoding="utf-8") == manifest_text(inputs)
    except OSError:
        return False
