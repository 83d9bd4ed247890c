"""What `nn.modules.utils` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import repeated
from runtime.nn.modules._holding import own_names

globals().update(own_names(repeated))
