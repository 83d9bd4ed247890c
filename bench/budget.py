"""The performance budget: the most that each kind of work may take, as a ratio to PyTorch eager on one thread."""

from __future__ import annotations

# What the Python target may take; docs/architecture.md gives the reasons.
PYTHON_TARGET = {
    "forward": None,
    "forward and record": 0.6,
    "backward": 0.6,
    "chain": 0.6,
    "fan-in": 0.5,
    "small mlp": 0.8,
    "large mlp": 1.2,
    "element-wise": 1.1,
    "block": 1.2,
    "jacobian": 1.0,
    "import": 0.15,
    "codegen": 0.3,
}
