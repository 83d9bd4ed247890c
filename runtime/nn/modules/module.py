"""What `nn.modules.module` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import module
from runtime.nn.modules._holding import own_names

globals().update(own_names(module))
