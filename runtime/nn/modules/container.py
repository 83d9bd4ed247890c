"""What `nn.modules.container` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import containers
from runtime.nn.modules._holding import own_names

globals().update(own_names(containers))
