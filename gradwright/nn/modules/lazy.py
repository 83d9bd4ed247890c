"""What `nn.modules.lazy` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import lazy
from gradwright.nn.modules._holding import own_names

globals().update(own_names(lazy))
