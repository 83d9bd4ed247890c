"""What `nn.modules.dropout` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import dropout
from gradwright.nn.modules._holding import own_names

globals().update(own_names(dropout))
