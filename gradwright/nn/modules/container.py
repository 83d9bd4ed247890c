"""What `nn.modules.container` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import containers
from gradwright.nn.modules._holding import own_names

globals().update(own_names(containers))
