"""What `nn.modules.flatten` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import linear
from gradwright.nn.modules._holding import own_names

globals().update(own_names(linear))
