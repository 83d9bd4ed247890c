"""What `nn.modules.adaptive` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import adaptive
from gradwright.nn.modules._holding import own_names

globals().update(own_names(adaptive))
