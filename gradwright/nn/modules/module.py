"""What `nn.modules.module` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import module
from gradwright.nn.modules._holding import own_names

globals().update(own_names(module))
