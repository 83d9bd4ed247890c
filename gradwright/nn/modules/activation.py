"""What `nn.modules.activation` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import activation, attention
from gradwright.nn.modules._holding import own_names

globals().update(own_names(activation))
globals().update(own_names(attention))
