"""What `nn.modules.adaptive` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import adaptive
from runtime.nn.modules._holding import own_names

globals().update(own_names(adaptive))
