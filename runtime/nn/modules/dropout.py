"""What `nn.modules.dropout` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import dropout
from runtime.nn.modules._holding import own_names

globals().update(own_names(dropout))
