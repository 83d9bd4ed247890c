"""The engine: what generated code runs on. Its Tensors have PyTorch's names in the package `gradwright`.

Operators come from the generated code: `import generated` loads this engine and puts them into `runtime.ops`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from codegen.module_names import PREFIX
from runtime.base.identity import PACKAGES

# Kernels meet zero and infinity as PyTorch's do, without warnings.  General calls run under `errstate`; the fast path
# has no time for that, so warnings that NumPy raises from our own modules are filtered, and no others.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=rf"({'|'.join(sorted(PACKAGES))})\.")

if not TYPE_CHECKING and not PREFIX:  # a wheel has no package of this name
    from runtime.load.old_names import attribute as __getattr__  # noqa: F401
