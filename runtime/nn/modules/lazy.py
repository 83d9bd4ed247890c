"""What `nn.modules.lazy` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import lazy
from runtime.nn.modules._holding import own_names

globals().update(own_names(lazy))
