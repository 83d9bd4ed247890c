"""What the YAML names: kernels on arrays, composites and helpers on Tensors, rules of batches, sparse Tensors.

The generator reads these modules as text, and generated code imports them by their places.
"""

from __future__ import annotations

from runtime.base.lazy import load_lazily

load_lazily(__name__, ("sparse",))
