"""What `nn.modules.instancenorm` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import batch_norm, lazy
from runtime.nn.modules._holding import own_names

globals().update(own_names(batch_norm))
globals().update(own_names(lazy))
