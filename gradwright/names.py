"""What has a name in this package and lies elsewhere: the generator, and modules of the engine that PyTorch has too."""

from __future__ import annotations

import os
from importlib.util import find_spec

_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# A file that each of the packages has, by which it is known.
_MARKS = {"runtime": "base/tensor.py", "codegen": "pipeline.py", "generated": "manifest.json"}

# Modules by the names that they have here.
ALIASES = {
    "codegen": "codegen",
    "functional": "runtime.functional",
    "native": "runtime.native",
    "ops": "runtime.ops",
    "random": "runtime.random",
    "sparse": "runtime.sparse",
}


def check_packages() -> None:
    """Look whether the packages beside this one are ours.

    Raises:
        ImportError: a package of somebody else has the name of one, and comes before it on the path.
    """
    for name, mark in _MARKS.items():
        spec = find_spec(name)
        folder = None if spec is None or spec.origin is None else os.path.dirname(spec.origin)
        ours = folder == os.path.join(_ROOT, name)
        if folder is not None and not ours and not os.path.exists(os.path.join(folder, mark)):
            raise ImportError(
                f"{folder} hides Gradwright's package '{name}', which is in {_ROOT}: give it another name, or remove "
                "its __init__.py"
            )


def first_name(name: str) -> str | None:
    """What a module is called whose second name this is; None where it is none."""
    head, _, rest = name.partition(".")
    part, dot, inner = rest.partition(".")
    return f"{ALIASES[part]}{dot}{inner}" if head == __package__ and part in ALIASES else None
