"""The name under which Gradwright is installed: `import gradwright as torch` is `import runtime as torch`.

`gradwright` is the module `runtime` itself, and `gradwright.nn` is `runtime.nn`; `gradwright.codegen` is the generator.
A name that is a second one of a module costs nothing where it is used, unlike a module that hands names on.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gradwright.names import install

if TYPE_CHECKING:
    import codegen as codegen
    from runtime import *  # noqa: F403
    from runtime import __version__ as __version__


def install_as_torch() -> None:
    """Let `import torch`, anywhere in this process from now on, give Gradwright, and so for its submodules.

    A name of PyTorch that Gradwright does not have can be imported and raises when it is used: it names itself, and
    docs/pytorch.md lists all of them.

    Raises:
        ImportError: PyTorch itself is loaded already.
    """
    from gradwright.as_torch import install

    install()


if not TYPE_CHECKING:
    _module = install()
    _module.install_as_torch = install_as_torch
    sys.modules[__name__] = _module
