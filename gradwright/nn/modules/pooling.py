"""What `nn.modules.pooling` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import pooling
from gradwright.nn.modules._holding import own_names

globals().update(own_names(pooling))
