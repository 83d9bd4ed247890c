"""What `nn.modules.linear_cross_entropy` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import linear_cross_entropy
from gradwright.nn.modules._holding import own_names

globals().update(own_names(linear_cross_entropy))
