"""What `nn.modules.instancenorm` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import batch_norm, lazy
from gradwright.nn.modules._holding import own_names

globals().update(own_names(batch_norm))
globals().update(own_names(lazy))
