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
else:
    sys.modules[__name__] = install()
