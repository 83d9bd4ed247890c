"""What `nn.modules.flatten` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import linear
from runtime.nn.modules._holding import own_names

globals().update(own_names(linear))
