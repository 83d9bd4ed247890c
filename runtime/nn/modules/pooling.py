"""What `nn.modules.pooling` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import pooling
from runtime.nn.modules._holding import own_names

globals().update(own_names(pooling))
