"""What `nn.modules.activation` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import activation, attention
from runtime.nn.modules._holding import own_names

globals().update(own_names(activation))
globals().update(own_names(attention))
